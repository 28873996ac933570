const $ = id => document.getElementById(id);
const STARS = 5;
let status = null;
let member = null;
let silent = false; // whether the service gave no answer when it was last asked

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") made.addEventListener("click", value);
    else if (name === "class") made.className = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

function trouble(text) {
  $("trouble").textContent = text;
  $("trouble").hidden = !text;
}

async function ask(path, options = {}, quiet = false) {
  const token = sessionStorage.getItem("token");
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch {
    silent = true;
    trouble("The service does not answer. Is it running?");
    throw new Error("no answer");
  }
  if (response.status === 401) {
    $("token-form").hidden = false;
    trouble("A token is needed.");
    throw new Error("no token");
  }
  const answer = await response.json();
  if (!response.ok) {
    trouble(answer.error);
    throw new Error(answer.error);
  }
  if (!quiet || silent) trouble("");
  silent = false;
  return answer;
}

const identity = (text, strings) => (strings ? text : Number(text));
const name = entry => entry.title ?? String(entry.item);
const short = number => (number === null || number === undefined ? "" : number.toFixed(2));

function rates(item, title) {
  const [lowest, highest] = status.scale;
  const count = highest - lowest > 0 && Number.isInteger(highest - lowest) && highest - lowest < 12 ? highest - lowest + 1 : STARS;
  const values = Array.from({ length: count }, (_, k) => (count === 1 ? highest : lowest + (k * (highest - lowest)) / (count - 1)));
  const group = element("span", { class: "rates", role: "group", "aria-label": `Rate ${title}` });
  for (const value of lowest === highest ? [highest] : values) {
    const label = lowest === 1 && highest === 5 ? "★" : String(value);
    group.append(element("button", { type: "button", title: `${value}`, class: label === "★" ? "star" : "", "aria-label": `Rate ${title} ${value}`, onclick: () => begin(rate(item, title, value)) }, label));
  }
  return group;
}

async function rate(item, title, value) {
  if (member === null) {
    trouble("Say first for whom: type a member above.");
    $("user").focus();
    return;
  }
  const body = JSON.stringify({ user: member, item, rating: value });
  const answer = await ask("ratings", { method: "POST", body });
  await showList(`${member} gave ${title} ${value}: event ${answer.sequence}, written and learned.`);
}

function reasonsOf(entry) {
  const named = (entry.reasons ?? []).filter(reason => reason.kind !== "factor").map(reason => reason.name);
  return named.length ? `because of ${named.join(", ")}` : "";
}

async function showList(note = "") {
  const before = [...$("list").children].map(row => row.dataset.item);
  const answer = await ask(`recommend/${encodeURIComponent(member)}?n=10&explain=true`);
  $("list-section").hidden = false;
  $("list-title").textContent = answer.known ? `Recommended for ${member}` : "Bestsellers";
  $("list-note").textContent = note || (answer.known ? "" : `${member} is new here: rate something to get a list of your own.`);
  $("list").replaceChildren(...answer.items.map((entry, place) => {
    const score = entry.rating ?? entry.score;
    const row = element("li", { "data-item": entry.item }, element("span", { class: "title" }, name(entry)),
      element("span", { class: "score", title: answer.known ? "what the list is sorted by" : "" }, answer.known ? short(score) : `${score.toLocaleString()} ratings`), rates(entry.item, name(entry)));
    const reasons = reasonsOf(entry);
    if (reasons) row.append(element("p", { class: "reasons" }, reasons));
    if (before.length && before[place] !== String(entry.item)) row.classList.add("moved");
    return row;
  }));
  $("rated").replaceChildren();
  if ($("known").open) await showKnown();
  await showStatus();
}

async function showKnown() {
  let answer;
  try { answer = await ask(`users/${encodeURIComponent(member)}`); } catch { return; }
  const given = Object.fromEntries(answer.events.map(event => [event.item, event.rating]));
  $("rated").replaceChildren(...answer.rated.map(entry => element("li", {}, element("span", { class: "title" }, name(entry)),
    element("span", { class: "score" }, given[entry.item] === undefined ? "" : String(given[entry.item])))));
}

async function find() {
  const answer = await ask(`items?n=12&q=${encodeURIComponent($("words").value)}`);
  $("found").replaceChildren(...answer.items.map(entry => element("li", {}, element("span", { class: "title" }, name(entry)),
    element("span", { class: "score" }, `${entry.ratings} ratings`), rates(entry.item, name(entry)))));
  $("found-note").textContent = answer.items.length ? "" : "Nothing of that name.";
}

function drawCurve(points) {
  const svg = $("curve");
  svg.replaceChildren();
  $("curve-note").textContent = points.length > 1 ? "Error on ratings just before they were learned (RMSE), over events."
    : "The learning curve appears here when ratings come in.";
  svg.toggleAttribute("hidden", points.length < 2);
  if (points.length < 2) return;
  const errors = points.map(point => point[1]);
  const [low, high] = [Math.min(...errors), Math.max(...errors)];
  const x = k => 45 + (545 * k) / (points.length - 1);
  const y = error => 15 + 120 * (high > low ? (high - error) / (high - low) : 0.5);
  const make = (tag, attributes, text = "") => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    svg.append(made);
  };
  for (const error of [low, high]) {
    make("line", { x1: 45, x2: 590, y1: y(error), y2: y(error) });
    make("text", { x: 4, y: y(error) + 4 }, error.toFixed(2));
  }
  make("text", { x: 45, y: 155 }, points[0][0].toLocaleString());
  make("text", { x: 590, y: 155, "text-anchor": "end" }, points.at(-1)[0].toLocaleString());
  make("path", { d: points.map((point, k) => `${k ? "L" : "M"}${x(k)},${y(point[1])}`).join("") });
}

async function showStatus(quiet = false) {
  status = await ask("status", {}, quiet);
  $("about").textContent = `${status.model}: ${status.users.toLocaleString()} members, ${status.items.toLocaleString()} items`;
  const figures = { "ratings learned": status.ratings.toLocaleString(), "last event": status.sequence.toLocaleString(),
    "events a second": status.events_per_second.toFixed(1), "fitting anew": status.refitting ? "yes" : "no" };
  $("figures").replaceChildren(...Object.entries(figures).map(([key, value]) => element("div", {}, element("dt", {}, key), element("dd", {}, value))));
  drawCurve(status.learning_curve);
}

async function showTopics() {
  let answer;
  try {
    answer = await ask("topics?n=6");
  } catch (error) {
    $("topics-note").textContent = error.message;
    trouble("");
    return;
  }
  $("topics-note").textContent = "What is liked by the same people.";
  $("topics").replaceChildren(...answer.topics.map((topic, k) => element("article", { class: "topic" },
    element("h3", {}, topic.label || `Topic ${k + 1}`, element("small", {}, `${(100 * topic.share).toFixed(0)} %`)),
    element("ul", {}, ...topic.titles.map(title => element("li", {}, title))))));
}

async function suggestUsers() {
  const answer = await ask(`users?n=12&q=${encodeURIComponent($("user").value)}`);
  $("users").replaceChildren(...answer.users.map(user => element("option", { value: user })));
  return answer.users;
}

async function choose(text) {
  const chosen = identity(text.trim(), status.string_users);
  if (text.trim() === "" || (!status.string_users && !Number.isInteger(chosen))) {
    trouble("A member here is a whole number.");
    return;
  }
  member = chosen;
  $("user").value = String(chosen);
  $("list").replaceChildren();
  await showList();
}

async function anyone() {
  const { users } = await ask("users?n=1000");
  if (users.length) await choose(String(users[Math.floor(Math.random() * users.length)]));
}

function begin(work) {
  work.catch(() => {}); // what went wrong stands in the page already
}

$("who").addEventListener("submit", event => { event.preventDefault(); begin(choose($("user").value)); });
$("find").addEventListener("submit", event => { event.preventDefault(); begin(find()); });
$("user").addEventListener("input", () => begin(suggestUsers()));
$("known").addEventListener("toggle", () => { if ($("known").open) begin(showKnown()); });
$("anyone").addEventListener("click", () => begin(anyone()));
$("token-form").addEventListener("submit", event => {
  event.preventDefault();
  sessionStorage.setItem("token", $("token").value);
  $("token-form").hidden = true;
  start();
});

async function start() {
  try {
    await showStatus();
    await Promise.all([find(), suggestUsers()]);
    await showTopics();
  } catch { return; }
}
start();
setInterval(() => { if (status && !document.hidden) begin(showStatus(true)); }, 2000);
