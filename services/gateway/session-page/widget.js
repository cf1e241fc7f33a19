/* A button on any page that leads to a conversation: <script type="module" src="https://voice.example.com/r/assets/widget.js" data-door="KEY"></script>, or data-link for a lead's link (docs/rtc.md) */
import { call } from "./call.js";
import { join } from "./session.js";

const STYLE =
  ":host{display:inline-block}button{font:inherit;min-height:2.75rem;min-width:2.75rem;padding:.5rem 1rem;cursor:pointer}p{margin:.5rem 0}";

class CallagentTalk extends HTMLElement {
  connectedCallback() {
    const root = this.shadowRoot || this.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    root.adoptedStyleSheets = [sheet];
    const button = document.createElement("button");
    const said = document.createElement("p");
    said.setAttribute("role", "status");
    button.type = "button";
    button.textContent = this.#label;
    button.addEventListener("click", () => void this.#pressed(button, said));
    root.replaceChildren(button, said);
  }

  get #label() {
    return this.getAttribute("label") || (this.hasAttribute("door") ? "Call us" : "Talk to us");
  }

  #begin(onState) {
    if (!this.hasAttribute("door")) return join(this.getAttribute("link"), { onState });
    const variables = JSON.parse(this.getAttribute("variables") || "{}");
    return call(this.getAttribute("door"), { variables, onState });
  }

  async #pressed(button, said) {
    if (this.session) return this.session.leave();
    button.disabled = true;
    said.textContent = this.getAttribute("wait-label") || "One moment…";
    const onState = ({ state, message }) => {
      said.textContent = message;
      if (state === "ended") this.#ended(button);
      this.dispatchEvent(new CustomEvent("state", { detail: { state, message } }));
    };
    try {
      const session = await this.#begin(onState);
      if (session.state !== "ended") {
        this.session = session;
        button.textContent = this.getAttribute("end-label") || "End";
      }
    } catch (error) {
      said.textContent = error.message;
      if (error.isFinal) this.#ended(button);
    }
    button.disabled = false;
  }

  /** Through a door a visitor may call again; a link leads to one conversation. */
  #ended(button) {
    this.session = null;
    if (this.hasAttribute("door")) button.textContent = this.#label;
    else button.remove();
  }
}

customElements.define("callagent-talk", CallagentTalk);
// the one-line form: the script's own address and attributes; a module is no document.currentScript
for (const script of document.querySelectorAll("script[data-link], script[data-door]")) {
  if (script.src !== import.meta.url) continue;
  const talk = document.createElement("callagent-talk");
  for (const name of ["link", "door", "variables", "label"])
    if (script.dataset[name]) talk.setAttribute(name, script.dataset[name]);
  script.after(talk);
}
