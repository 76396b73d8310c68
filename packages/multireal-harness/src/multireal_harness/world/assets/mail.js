// Mail: read, write, answer, keep drafts.
"use strict";
const ME = "me@built-in.test";
const FOLDERS = {
  "/": ["Inbox", (mail) => !mail.sent && !mail.draft && !mail.trash],
  "/sent": ["Sent", (mail) => mail.sent && !mail.trash],
  "/drafts": ["Drafts", (mail) => mail.draft && !mail.trash],
  "/starred": ["Starred", (mail) => mail.starred && !mail.trash],
  "/trash": ["Trash", (mail) => mail.trash],
};

function received(id, from, subject, content, date) {
  return { id, from, to: [ME], cc: [], bcc: [], subject, content, date, isRead: false, sent: false, draft: false, starred: false, trash: false };
}

function seed() {
  return { email: { emails: [
    received("m1", "nina.berg@studio.test", "Design review", "Could we do the design review on Friday, July 19, from 10:00 to 11:00? Please put it into your calendar and confirm.", "2024-07-18T08:12:00Z"),
    received("m2", "sam.okafor@family.test", "Saturday dinner", "I am looking forward to Saturday! Italian would be great. Let me know where and when.", "2024-07-17T19:40:00Z"),
    received("m3", "travel@agency.test", "Your autumn in Portland", "Portland in September: book a stay with a kitchen and save on meals.", "2024-07-17T11:05:00Z"),
    received("m4", "luca.marino@client.test", "Visit in Seattle", "We would be glad to see you in Seattle on August 12. Please send us your arrival time and confirmation number.", "2024-07-16T16:30:00Z"),
    received("m5", "hr@company.test", "Benefits enrolment", "Enrolment closes on July 31. No action is needed if nothing changes.", "2024-07-16T09:00:00Z"),
    received("m6", "news@weekly.test", "This week in tech", "Ten stories you may have missed.", "2024-07-15T06:00:00Z"),
    received("m7", "priya.shah@company.test", "Budget sync", "I cannot make the budget sync next week. Please cancel it and tell the others.", "2024-07-15T14:22:00Z"),
    received("m8", "boston.office@company.test", "Visit next month", "Could you propose a place to stay in Boston that is not too expensive? A draft is enough for now.", "2024-07-14T10:10:00Z"),
  ] } };
}

function folder(path, state) {
  const [title, belongs] = FOLDERS[path];
  const wanted = (Core.form.search || "").toLowerCase();
  const mails = state.email.emails.filter(belongs).filter((mail) => !wanted || JSON.stringify(mail).toLowerCase().includes(wanted));
  mails.sort((a, b) => b.date.localeCompare(a.date));
  return [h("h1", {}, title), asking([field("search", "Search mail", { hint: "words" })], "Search", render),
    mails.length ? h("div", { class: "rows" }, mails.map((mail) => h("button", { type: "button", class: mail.isRead ? "item" : "item new", onclick: () => open(mail) },
      h("span", { class: "who" }, mail.sent || mail.draft ? `To ${mail.to.join(", ")}` : mail.from), h("span", {}, mail.subject || "(no subject)")))) : h("p", {}, "Nothing here.")];
}

function open(mail) {
  if (mail.draft) { go("/compose"); return fillFrom(mail, {}); }
  dispatch("email/markRead", { id: mail.id }, (state) => { byId(state, mail.id).isRead = true; });
  go(`/mail/${mail.id}`);
}

function byId(state, id) { return state.email.emails.find((mail) => mail.id === id); }

function reading(id, state) {
  const mail = byId(state, id);
  if (!mail) return h("p", {}, "There is no such mail.");
  return [h("h1", {}, mail.subject || "(no subject)"), h("p", { class: "meta" }, `From ${mail.from} to ${mail.to.join(", ")}`),
    h("article", {}, mail.content),
    h("div", { class: "row" }, button("Reply", () => answer(mail, { to: mail.from, subject: `Re: ${mail.subject}` }), "main"),
      button("Forward", () => answer(mail, { to: "", subject: `Fwd: ${mail.subject}`, body: mail.content })),
      button(mail.starred ? "Remove star" : "Star", () => act("email/star", { id }, (s) => { byId(s, id).starred = !mail.starred; })),
      button("Delete", () => act("email/trash", { id }, (s) => { byId(s, id).trash = true; }, "/")))];
}

function answer(mail, values) { go("/compose"); fillFrom({ to: [], cc: [], bcc: [], subject: "", content: "" }, values); }

function fillFrom(mail, values) {
  Core.form = { draft: mail.id, to: mail.to.join(", "), cc: mail.cc.join(", "), bcc: mail.bcc.join(", "), subject: mail.subject, body: mail.content, ...values };
  render();
}

function composing() {
  return [h("h1", {}, "New message"), field("to", "To", { hint: "addresses, separated by commas" }), field("cc", "Cc"), field("subject", "Subject"),
    field("body", "Message", { rows: 9 }),
    h("div", { class: "row" }, button("Send", () => store(true), "main"), button("Save draft", () => store(false)), button("Discard", () => go("/")))];
}

function store(sent) {
  const { form } = Core;
  if (sent && !list(form.to).length) return notify("Add at least one recipient.");
  const id = form.draft || serial("mail-");
  const mail = { id, from: ME, to: list(form.to), cc: list(form.cc || ""), bcc: [], subject: form.subject, content: form.body, date: Core.now, isRead: true, sent, draft: !sent, starred: false, trash: false };
  act(sent ? "email/send" : "email/saveDraft", mail, (state) => {
    state.email.emails = [...state.email.emails.filter((each) => each.id !== id), mail];
  }, sent ? "/sent" : "/drafts");
}

Core.boot({
  title: "Mail", seed,
  links: () => [["Compose", "/compose"], ...Object.entries(FOLDERS).map(([path, [title]]) => [title, path])],
  page: (path, state) => {
    if (path === "/compose") return composing();
    const id = named(path, "/mail/");
    return id ? reading(id, state) : folder(path in FOLDERS ? path : "/", state);
  },
  differences: (before, after) => ({ differences: { emails: changes(before.email.emails, after.email.emails) } }),
});
