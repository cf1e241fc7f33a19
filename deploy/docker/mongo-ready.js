/* global db, rs, fs, quit */
// The health check of docker-compose.yml's MongoDB, for mongosh on its own machine: status 0 when this member is the primary and the users can log in.
// It makes what is missing: the replica set, the user root, and the user of MONGODB_URI with its password. A server without users lets whoever is on its
// machine make the first one (the localhost exception), a server that has some asks for root's password.
const secret = (name) => fs.readFileSync(`/run/secrets/${name}`, "utf8").trim();
const isUser = (on, name, password) => {
  try {
    return on.auth(name, password).ok === 1;
  } catch (error) {
    if (error.codeName === "AuthenticationFailed") return false;
    throw error;
  }
};

const member = db.hello();
if (member.setName === undefined) {
  rs.initiate({ _id: "rs0", members: [{ _id: 0, host: "mongo:27017" }] });
  quit(1);
}
if (!member.isWritablePrimary) quit(1);

const admin = db.getSiblingDB("admin");
const root = secret("MONGODB_ROOT_PASSWORD");
if (!isUser(admin, "root", root)) {
  admin.createUser({ user: "root", pwd: root, roles: ["root"] });
  admin.auth("root", root);
}

// another database's users are not ours to make
const ours = /^mongodb:\/\/([^:@/]+):([^@/]+)@mongo(?::\d+)?\/(\w+)/.exec(secret("MONGODB_URI"));
if (ours !== null) {
  const [user, pwd] = ours.slice(1, 3).map(decodeURIComponent);
  const roles = [{ role: "readWrite", db: ours[3] }];
  if (admin.getUser(user) === null) admin.createUser({ user, pwd, roles });
  else if (!isUser(admin, user, pwd)) {
    // the password in the file was changed
    admin.auth("root", root);
    admin.updateUser(user, { pwd });
  }
}
