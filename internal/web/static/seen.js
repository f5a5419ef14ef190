// The pages are complete without this file. It keeps them up to date while they are open,
// and saves some clicks.
"use strict";

// fill replaces what has changed in an element with what the server has sent. A row that
// has the focus keeps it and stays in its place.
function fill(element, html) {
  const made = document.createElement("template");
  made.innerHTML = html;
  const rows = [...made.content.children];
  if (!rows.length || !rows.every((row) => row.dataset.key !== undefined)) {
    if (element.innerHTML !== html) element.innerHTML = html;
    return;
  }
  const present = new Map([...element.children].map((row) => [row.dataset.key, row]));
  let at = element.firstElementChild;
  for (const row of rows) {
    let old = present.get(row.dataset.key);
    present.delete(row.dataset.key);
    if (!old) {
      old = row;
    } else {
      if (old.className !== row.className) old.className = row.className;
      [...row.children].forEach((cell, i) => {
        const was = old.children[i];
        if (was.innerHTML !== cell.innerHTML && !was.contains(document.activeElement)) was.replaceWith(cell.cloneNode(true));
      });
    }
    if (old === at) {
      at = at.nextElementSibling;
    } else if (!old.contains(document.activeElement)) {
      element.insertBefore(old, at);
    }
  }
  for (const row of present.values()) if (!row.contains(document.activeElement)) row.remove();
}

// Pictures that change with time are reloaded while the page is visible.
for (const picture of document.querySelectorAll("img[data-again]")) {
  const source = picture.getAttribute("src");
  setInterval(() => {
    if (!document.hidden) picture.src = source + "&at=" + Date.now();
  }, 1000 * picture.dataset.again);
}

// Each line to copy gets a button.
for (const line of document.querySelectorAll(".copy")) {
  const button = document.createElement("button");
  button.className = "quiet";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(line.querySelector("pre").textContent);
    button.textContent = "Copied";
  });
  if (navigator.clipboard) line.append(button);
}

// A form with data-into shows its answer in that element while the user types.
for (const form of document.querySelectorAll("form[data-into]")) {
  let timer, number = 0;
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const mine = ++number;
      const address = form.getAttribute("action") + "?" + new URLSearchParams(new FormData(form));
      const answer = await fetch(address);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (mine !== number || !answer.ok) return; // the user has typed more
      document.getElementById(form.dataset.into).replaceWith(page.getElementById(form.dataset.into));
      history.replaceState(null, "", address);
    }, 200);
  });
}

const live = document.querySelector("[data-live]");
if (live) {
  const state = document.getElementById("live");
  const source = new EventSource(live.dataset.live);
  source.addEventListener("open", () => { state.textContent = "live"; });
  source.addEventListener("error", () => {
    state.textContent = source.readyState === EventSource.CLOSED ? "not live; reload the page to try again" : "connection lost; trying again";
  });
  source.addEventListener("parts", (event) => {
    for (const [id, html] of Object.entries(JSON.parse(event.data))) {
      const element = document.getElementById(id);
      if (element) fill(element, html);
    }
  });
  window.addEventListener("pagehide", () => source.close());
}
