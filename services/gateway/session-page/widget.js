/* A button on any page that leads to a session: <script type="module" src="https://voice.example.com/r/assets/widget.js" data-link="https://voice.example.com/r/…"></script> (docs/rtc.md) */
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
    button.textContent = this.getAttribute("label") || "Talk to us";
    button.addEventListener("click", () => void this.#pressed(button, said));
    root.replaceChildren(button, said);
  }

  async #pressed(button, said) {
    if (this.session) return this.session.leave();
    button.disabled = true;
    const onState = ({ state, message }) => {
      said.textContent = message;
      if (state === "ended") button.remove();
      this.dispatchEvent(new CustomEvent("state", { detail: { state, message } }));
    };
    try {
      this.session = await join(this.getAttribute("link"), { onState });
      button.textContent = this.getAttribute("end-label") || "End";
    } catch (error) {
      said.textContent = error.message;
      if (error.isFinal) button.remove();
    }
    button.disabled = false;
  }
}

customElements.define("callagent-talk", CallagentTalk);
// the one-line form: the script's own address and attributes; a module is no document.currentScript
for (const script of document.querySelectorAll("script[data-link]")) {
  if (script.src !== import.meta.url) continue;
  const talk = document.createElement("callagent-talk");
  talk.setAttribute("link", script.dataset.link);
  if (script.dataset.label) talk.setAttribute("label", script.dataset.label);
  script.after(talk);
}
