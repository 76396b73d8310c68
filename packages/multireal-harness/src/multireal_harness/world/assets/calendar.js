// Calendar: days with events, a form for one event; today never changes.
"use strict";
function event(id, title, start, end, more = {}) {
  return { id, title, start: new Date(start).toISOString(), end: new Date(end).toISOString(), location: "", description: "", guests: [], ...more };
}

function seed() {
  return { calendar: { today: "2024-07-18", myEvents: [
    event("e1", "Stand-up", "2024-07-18T09:30", "2024-07-18T09:45"),
    event("e2", "Lunch with Ana", "2024-07-18T12:00", "2024-07-18T13:00", { location: "Canteen" }),
    event("e3", "Project planning", "2024-07-19T14:00", "2024-07-19T15:30"),
    event("e4", "Soccer practice", "2024-07-20T09:00", "2024-07-20T10:30", { location: "City park" }),
    event("e5", "Budget sync", "2024-07-23T13:00", "2024-07-23T14:00", { guests: ["priya.shah@company.test", "tom.weiss@company.test"] }),
    event("e6", "Choir rehearsal", "2024-07-25T18:30", "2024-07-25T20:00", { location: "Music school" }),
    event("e7", "Dentist", "2024-07-26T08:00", "2024-07-26T08:45"),
    event("e8", "Quarterly report", "2024-07-31T16:00", "2024-07-31T17:00"),
  ] } };
}

const day = (text) => new Date(text).toLocaleDateString("en-CA");
const clock = (text) => new Date(text).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
const heading = (text) => new Date(`${text}T12:00`).toLocaleDateString("en-US", { weekday: "long", month: "long", day: "numeric", year: "numeric" });

function agenda(state) {
  const events = [...state.calendar.myEvents].sort((a, b) => a.start.localeCompare(b.start));
  const days = [...new Set(events.map((each) => day(each.start)))];
  return [h("h1", {}, "Agenda"), h("p", { class: "meta" }, `Today is ${heading(state.calendar.today)}`),
    days.map((date) => h("section", { class: "day" }, h("h2", {}, heading(date)), h("div", { class: "rows" },
      events.filter((each) => day(each.start) === date).map((each) => h("button", { type: "button", class: "item", onclick: () => go(`/event/${each.id}`) },
        h("span", { class: "who" }, `${clock(each.start)} - ${clock(each.end)}`), h("span", {}, each.title))))))];
}

function editing(found) {
  const before = found || { title: "", location: "", description: "", guests: [] };
  return [h("h1", {}, found ? "Event" : "New event"), field("title", "Title", { value: before.title }),
    h("div", { class: "row" }, field("date", "Date", { hint: "2024-07-18", value: found && day(found.start) }), field("start", "Start", { hint: "14:00", value: found && clock(found.start) }),
      field("end", "End", { hint: "15:00", value: found && clock(found.end) })),
    h("div", { class: "row" }, field("location", "Location", { value: before.location }), field("guests", "Guests", { hint: "addresses, separated by commas", value: before.guests.join(", ") })),
    field("description", "Description", { rows: 4, value: before.description }),
    h("div", { class: "row" }, button("Save", () => store(found), "main"), found && button("Delete", () => remove(found)), button("Cancel", () => go("/")))];
}

function store(found) {
  const { form } = Core;
  const start = new Date(`${form.date}T${form.start}`), end = new Date(`${form.date}T${form.end}`);
  if (!form.title) return notify("Give the event a title.");
  if (isNaN(start) || isNaN(end)) return notify("Write the date like 2024-07-18 and times like 14:00.");
  if (end <= start) return notify("An event ends after it starts.");
  const saved = { id: found ? found.id : crypto.randomUUID(), title: form.title, start: start.toISOString(), end: end.toISOString(), location: form.location, description: form.description, guests: list(form.guests) };
  act(found ? "calendar/updateEvent" : "calendar/createEvent", saved, (state) => {
    state.calendar.myEvents = [...state.calendar.myEvents.filter((each) => each.id !== saved.id), saved];
  }, "/");
}

function remove(found) {
  act("calendar/deleteEvent", { id: found.id }, (state) => { state.calendar.myEvents = state.calendar.myEvents.filter((each) => each.id !== found.id); }, "/");
}

Core.boot({
  title: "Calendar", seed,
  links: () => [["Agenda", "/"], ["New event", "/new"]],
  page: (path, state) => {
    if (path === "/new") return editing(null);
    const id = named(path, "/event/");
    return id ? editing(state.calendar.myEvents.find((each) => each.id === id)) : agenda(state);
  },
  differences: (before, after) => ({ differences: { events: changes(before.calendar.myEvents, after.calendar.myEvents, "id") } }),
});
