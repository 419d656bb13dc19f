// Tells a screen reader what the texts of a chart say whenever a control inside `root` has moved.
function tell(root, chart) {
  const said = document.createElement("p");
  said.className = "said";
  said.setAttribute("role", "status");
  root.addEventListener("focusin", ({target}) => {
    if (!said.isConnected) chart.after(said);  // there before it speaks
    target.setAttribute("data-lm-suppress-shortcuts", "true");  // JupyterLab leaves it the arrow keys
  });
  root.addEventListener("change", () => setTimeout(() => {
    const texts = [...chart.querySelectorAll("[aria-label^='words: ']")].map(one => one.getAttribute("aria-label").slice(7));
    said.textContent = [...new Set(texts)].slice(0, 6).join(". ");
  }, 300));
}
