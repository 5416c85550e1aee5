// The stage: one job, one moment, any number of executors side by side.
// Sections: tools; from a recording to moments; the ledger; every key; predictions; the rails; two workers; two budgets;
// a pick made of moves; the widget. What is derived here is derived in Python too (emqlab.observe.moments and every,
// emqlab.teach.predict, emqlab_widgets.chart), in the same words.

const COUNTERS = ["attempts", "failures", "stalled", "lease_epoch"];
const EXTRAS = ["state", "last_error", "payload", "group", "parent", "parent_policy"];
const SETS = ["pending", "active", "schedule", "dead"];
const PITCH = 36, CHIP = 64, TALL = 22, LANES = 4;
const GLYPH = { read: "r", host: "h", write: "w", call: "w", guard: "d", reply: "a", world: "u" };
const PATIENCE_MS = 5000; // a comm to a kernel that is gone fails without a word: after this the reader is told
const RUN_MS = 120000; // so long may a run take that the kernel has begun
const NO_KERNEL = "No kernel is running: run the cell above to choose another case; stepping still works.";
const still = matchMedia("(prefers-reduced-motion: reduce)");
const night = matchMedia("(prefers-color-scheme: dark)");

// ---------------------------------------------------------------- tools

function h(tag, props = {}, ...kids) {
  const node = document.createElement(tag);
  for (const [k, v] of Object.entries(props)) {
    if (k.startsWith("on")) node.addEventListener(k.slice(2), v);
    else if (v !== false && v != null) node.setAttribute(k, v === true ? "" : v);
  }
  node.append(...kids.flat().filter((kid) => kid != null && kid !== false));
  return node;
}
const esc = (s) => String(s).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
const glyph = (kind) => h("i", { class: `g ${kind}` });
const plain = (v) => v === null || typeof v !== "object"; // anything that is not a JSON object or list
const own = (o, k) => !plain(o) && Object.hasOwn(o, k); // ids and groups may be called "constructor"
const get = (o, k) => (own(o, k) ? o[k] : undefined);
const short = (text) => (text.length > 160 ? `${text.slice(0, 159)}…` : text);
const whole = (text) => text.replaceAll("…", "…\u2060"); // a line does not end inside a shortened id
/** Whether a text is on the clipboard now: not every page may put one there. */
const copied = async (text) => await navigator.clipboard?.writeText(text).then(() => true, () => false);
const put = (node, text) => { if (node.textContent !== text) node.textContent = text; };

// ---------------------------------------------------------------- from a recording to moments

/** RFC 7396: a null takes a key away, an object goes deeper, anything else replaces. */
export function merge(state, patch) {
  if (plain(patch) || Array.isArray(patch)) return patch;
  const out = Object.assign(Object.create(null), plain(state) ? {} : state);
  for (const [k, v] of Object.entries(patch)) {
    if (v === null) delete out[k];
    else out[k] = merge(out[k], v);
  }
  return out;
}

/** Whether the frames are whole calls, so that each step has a before and after of its own. What another client sends meanwhile is a part of one. */
const ofCalls = (rec) => rec.executors.some((ex) => ex.frames.some((f) => f.phase === "call" || (f.phase === "world" && f.by !== "another client")));

/**
 * For each executor, one moment before anything was sent and one after each step. `since` is the state that a reader
 * compares with: the one before the run, in a recording of whole calls (unless `whole`) the one before the step.
 */
export function moments(rec, whole) {
  const each = ofCalls(rec) && !whole;
  return rec.executors.map((ex) => {
    let at = 0;
    let m = { state: rec.before, since: rec.before, frame: null, last: null, said: null, reads: new Set(), writes: new Set(), counts: [0, 0], wrote: false, clock: rec.now_ms, started: false, ended: false, epoch: rec.run_id };
    return [m, ...rec.steps.map((step) => {
      const frame = ex.frames[at]?.step === step.id ? ex.frames[at++] : null;
      if (each) m = { ...m, since: m.state, reads: new Set(), writes: new Set() };
      return (m = after(m, frame, at === ex.frames.length, ex.reply));
    })];
  });
}
function after(m, frame, ended, reply) {
  const last = frame ?? m.last, phase = frame?.phase;
  const through = phase === "write" && !own(frame.reply, "error");
  // After an answer another transition begins, which has written nothing yet.
  const goesOn = !frame || (m.last && !["reply", "call", "world"].includes(m.last.phase));
  const said = last && (ended || phase === "call") ? last.reply ?? null : null;
  return {
    state: frame?.patch ? merge(m.state, frame.patch) : m.state, since: m.since, frame, last,
    said: !last && ended ? reply ?? null : said,
    reads: new Set([...m.reads, ...(frame?.reads ?? [])]), writes: new Set([...m.writes, ...(frame?.writes ?? [])]),
    counts: [m.counts[0] + (phase === "read" || phase === "host"), m.counts[1] + through],
    wrote: (goesOn && m.wrote) || frame?.writes?.length > 0,
    clock: frame?.clock ?? m.clock, started: m.started || !!frame, ended, epoch: frame?.epoch ?? m.epoch,
  };
}
/** No transition is half-way: the executor has answered, or its frames are whole verbs. */
const settled = (m) => m.ended || m.last?.phase === "call" || m.last?.phase === "world";

export function place(state, id) {
  const held = Object.keys(state.sets).filter((k) => own(state.sets[k], id));
  return held.length ? held.join(" + ") : own(state.rows, id) ? "no set" : "gone";
}

/** "held": a running transition has the id in hand; "lost": one has left it in no set; else "". */
export function astray(rec, m, id) {
  const waits = get(get(m.state.rows, id), "state") === "awaiting_children";
  if (place(m.state, id) !== "no set" || place(rec.before, id) === "no set" || waits) return "";
  return settled(m) ? "lost" : "held";
}

export function verdict(rec, ms, i) {
  const m = ms[i], was = place(m.since, rec.subject), away = astray(rec, m, rec.subject);
  const is = away === "held" ? "in hand" : place(m.state, rec.subject);
  const stamp = away === "lost" ? "lost" : own(m.said, "error") ? (m.wrote ? "broke off" : "refused") : "";
  const lived = (n) => ms.slice(0, n).some((x) => place(x.state, rec.subject) !== "gone");
  const again = ofCalls(rec) && lived(i), before = was === "gone" && lived(i + 1) && !again ? "new" : was;
  const none = m.ended ? (again ? "stays gone" : "there is no job") : "not there";
  const text = before !== is ? `${before} → ${is}` : is === "gone" ? none : `${m.ended ? "stays " : ""}in ${is}`;
  return { was: before, is, said: m.said, stamp, text };
}

/** What a column's heading adds to its title: the kind, or nothing where the title says as much (`the scripts`). */
export const kindSaid = (ex) => (/\b(scripts?|scripted|verbs?|native)\b/.test(ex.title) ? "" : ex.kind);

export function noteAt(rec, ms, i) {
  const m = ms[i];
  if (!ms.at(-1).last && own(ms.at(-1).said, "unsupported")) return "No such verb here: nothing is sent.";
  if (i === 0) return "Nothing has been sent.";
  if (m.frame?.note) return m.frame.note;
  if (m.ended && m.last) return m.last.phase === "call" || m.last.phase === "world" ? "Sends nothing more." : "Has answered.";
  return "Sends nothing for this.";
}

const shortIds = (text) => text.replace(/\b[A-Z]{3}[0-9A-Za-z]{7}([0-9A-Za-z]{4})\b/g, "…$1");
/** What a key, an id, an epoch or a time looks like in a narrow column. */
export function brief(text, rec) {
  return shortIds(String(text)
    .replaceAll(`emq:{${rec.queue}}:`, "").replace("{emq}:", "").replace(/^$/, "base").replaceAll(`job:${rec.subject}`, "row"))
    .replace(/\b([0-9a-f]{4})[0-9a-f]{36}\b/g, "$1…")
    .replace(/^\d{13}$/, (n) => (+n === rec.now_ms ? "now" : `now${+n > rec.now_ms ? "+" : "−"}${Math.abs(n - rec.now_ms)}`));
}
function value(v, rec) {
  if (v === null || v === undefined) return "nil";
  if (Array.isArray(v)) return `[${v.map((x) => value(x, rec)).join(", ")}]`;
  return v === "" ? '""' : brief(v, rec);
}
/** How far a lease (on active) or a due time is away: "30 s left", "due in 999 ms", "expired just now". */
export function until(rail, score, clock) {
  const ms = Math.abs(score - clock), away = ms < 1000 ? `${ms} ms` : `${Math.floor((ms + 50) / 100) / 10} s`;
  if (score > clock) return rail === "active" ? `${away} left` : `due in ${away}`;
  const past = rail === "active" ? "expired" : "due";
  return ms ? `${past} ${away} ago` : `${past} ${rail === "active" ? "just " : ""}now`;
}
export function replyText(r, rec) {
  if (!r || !Object.keys(r).length) return "";
  return r.error ?? (r.unsupported != null ? `unsupported ${r.unsupported}` : value(r.ok, rec));
}
export function commandText(f, rec) {
  if (f.command?.length) return f.command.map((a, k) => (k ? brief(a, rec) : String(a))).join(" ");
  return f.phase === "world" ? "nothing is sent" : "";
}

// ---------------------------------------------------------------- the ledger

/** The name under which frames list a ledger field among their reads and writes. */
const slotOf = (field) => field.replace("/", ".").replace(/^metrics\.(\w+)/, "metrics:$1.count").replace(/^other\./, "");
const hit = (slot, set) => set.has(slot) || set.has(slot.replace(" ", "."));
const ends = (key) => [key.slice(0, key.indexOf("/")), key.slice(key.indexOf("/") + 1)];

function stored(rec, field, state) {
  const [group, key] = ends(field);
  if (group !== "row") return get(state[group], key);
  const row = get(state.rows, rec.subject);
  return plain(row) ? (row && key === "attempts" ? `(${row})` : undefined) : get(row, key);
}
function delta(was = "0", is = "0") {
  const whole = /^(0|-?[1-9]\d*)$/;
  if (!whole.test(was) || !whole.test(is)) return "";
  const by = BigInt(is) - BigInt(was); // counters go to 2^63 − 1
  return by === 0n ? "" : by > 0n ? `+${by}` : `−${-by}`;
}

/** One line of the ledger: before (the moment's `since`), now, how it was touched, and the delta. */
export function line(rec, field, m) {
  const slot = slotOf(field), was = stored(rec, field, m.since), is = stored(rec, field, m.state);
  const read = hit(slot, m.reads), wrote = hit(slot, m.writes);
  const deleted = field.startsWith("row/") && m.writes.has("row") && is === undefined && (was !== undefined || wrote);
  const counted = /^(row\/(attempts|failures|stalled)$|metrics\/|other\/gactive|other\/job:[^ ]*:dependencies$)/.test(field) && !deleted;
  return {
    was, is, changed: was !== is, deleted, kind: wrote || deleted ? "w" : read ? "r" : "u",
    word: deleted ? "deleted" : wrote ? (read ? "read, written" : "written") : read ? "read" : "untouched",
    delta: counted ? delta(was, is) : "",
  };
}
/** How a stored text reads; whether an epoch is this one is a question of the moment `m`, else of the beginning. */
export function show(v, field, rec, m) {
  if (v === undefined || v === null) return field.startsWith("metrics/") ? "0" : "absent";
  if (field === "row/lease_epoch") return v === (m ?? { epoch: rec.run_id }).epoch ? "this epoch" : "earlier epoch";
  if (field.startsWith("other/") && /^\["[^",[\]\\]+"(, "[^",[\]\\]+")*\]$/.test(v)) return v.replaceAll('"', ""); // a list of words
  return v === "" ? '""' : String(v);
}
export function label(field) {
  const name = field.replace(/^(row|other)\//, "").replace("metrics/", "metrics:");
  const [, parent, what, child] = name.match(/^job:(.*):(dependencies|processed|failed|unsuccessful)(?: (.*))?$/s) ?? [];
  return what ? shortIds(`${what} ${child ?? parent}`) : name; // of a flow's keys
}

/** The fields worth a line: the four counters always, the rest when someone touched them. */
export function fields(rec, all) {
  const out = COUNTERS.map((f) => `row/${f}`);
  for (const f of EXTRAS) {
    const lines = all.flat().map((m) => line(rec, `row/${f}`, m));
    // The policy is asked of every job that fails; a job that has none needs no line.
    const never = f === "parent_policy" && lines.every((l) => l.was === undefined && l.is === undefined);
    if (!never && lines.some((l) => l.kind !== "u" || l.changed)) out.push(`row/${f}`);
  }
  for (const g of ["metrics", "other"]) {
    const seen = new Set(all.flat().flatMap((m) => Object.keys(m.state[g] ?? {})));
    out.push(...[...seen].sort().map((k) => `${g}/${k}`));
  }
  return out;
}
export function rails(all) {
  const seen = new Set(all.flat().flatMap((m) => Object.keys(m.state.sets)));
  return [...SETS, ...[...seen].filter((k) => !SETS.includes(k)), "no set"];
}
export function members(state, rail) {
  if (rail === "no set") return Object.keys(state.rows).filter((id) => place(state, id) === rail).sort();
  const set = get(state.sets, rail);
  return plain(set) ? [] : Object.keys(set).sort();
}

/** The marker pen: per executor, whether it is an odd one out on this line at this step. */
export function differs(rec, all, key, i) {
  const [group, name] = ends(key);
  const vals = all.map((ms) => {
    if (group !== "set") return JSON.stringify(line(rec, key, ms[i]).is ?? null);
    const set = name === "no set" ? members(ms[i].state, name) : get(ms[i].state.sets, name) || {};
    return JSON.stringify(plain(set) || Array.isArray(set) ? set : Object.entries(set).sort());
  });
  return oddOnes(vals);
}
function oddOnes(vals) {
  const freq = vals.map((v) => vals.filter((w) => w === v).length), most = Math.max(...freq);
  const split = new Set(vals.filter((_, e) => freq[e] === most)).size > 1;
  return freq.map((n) => n < most || split);
}

// ---------------------------------------------------------------- every key

/**
 * All keys and fields that an executor holds at this step or held before it (`since`): `{name, cells, odd}` each, a cell
 * an executor. The subject's row first, then the other rows, the sets, the metrics, the rest.
 */
export function every(rec, all, i) {
  const now = all.map((ms) => ms[i]), states = now.flatMap((m) => [m.since, m.state]);
  const names = (group) => [...new Set(states.flatMap((state) => Object.keys(state[group] ?? {})))].sort();
  const inside = (group, key) => {
    const held = states.map((state) => get(state[group], key));
    const fields = [...new Set(held.flatMap((v) => (plain(v) ? [] : Object.keys(v))))].sort();
    return [...(held.some((v) => v != null && plain(v)) ? [""] : []), ...fields].map((field) => [group, key, field]);
  };
  const rows = names("rows").sort((a, b) => (b === rec.subject) - (a === rec.subject)), sets = names("sets");
  const paths = [...rows.flatMap((key) => inside("rows", key)),
    ...[...SETS, ...sets.filter((name) => !SETS.includes(name))].flatMap((key) => inside("sets", key)),
    ...["metrics", "other"].flatMap((group) => names(group).map((key) => [group, key, ""]))];
  const at = (state, [group, key, field]) => {
    const held = get(state[group], key);
    if (group === "metrics" || group === "other") return held == null ? null : String(held);
    if (!plain(held)) return own(held, field) ? String(held[field]) : null;
    return held != null && field === "" ? `(${held})` : null;
  };
  return paths.map((path) => {
    const [group, key, field] = path, was = now.map((m) => at(m.since, path)), is = now.map((m) => at(m.state, path));
    const odd = oddOnes(is), name = group === "sets" ? key : key === rec.subject ? "row" : `job:${key}`;
    const text = (v, e) => {
      if (v === null) return "absent";
      if (group === "sets") return brief(v, rec);
      return short(show(v, group === "rows" ? `row/${field === "lease_epoch" ? field : ""}` : `${group}/${key}`, rec, now[e]));
    };
    return {
      name: group === "metrics" || group === "other" ? label(`${group}/${key}`) : shortIds(field ? `${name} ${field}` : name),
      cells: is.map((v, e) => `${v === was[e] ? "" : `${text(was[e], e)} → `}${text(v, e)}${odd[e] ? ", differs" : ""}`), odd,
    };
  });
}

// ---------------------------------------------------------------- predictions

const WHAT = ["place", "stamp", "reply", "delta", "value"];

function resolve(rec, about) {
  const e = rec.executors.findIndex((ex) => about.startsWith(`${ex.name}/`));
  if (e < 0) throw new Error(`${about} names no executor of this recording`);
  const [topic, ...rest] = about.slice(rec.executors[e].name.length + 1).split("/"), name = rest.join("/");
  const [what, ...row] = topic.split("@"), at = row.length ? rec.steps.findIndex((s) => s.id === row.join("@")) + 1 : null;
  const known = WHAT.includes(what) && (what === "delta" || what === "value") === !!name;
  if (!known || (row.length && (!at || !["stamp", "reply"].includes(what)))) throw new Error(`nothing that can be asked: ${about}`);
  const columns = moments(rec, true), column = columns[e], other = column.some((m) => own(m.state.other, name));
  const field = !name ? "" : name.startsWith("metrics:") ? name.replace("metrics:", "metrics/") : `${other ? "other" : "row"}/${name}`;
  return { name: rec.executors[e].name, column, others: columns.filter((one) => one !== column), what, field, at };
}
const sentBy = (column) => column.map((m, k) => [k, m.frame]).filter(([, f]) => f);
const writers = (field, sent) => sent.filter(([, f]) => hit(slotOf(field), new Set(f.writes)));
const lastReply = (column) => column.findLast((m) => m.said) ?? column.at(-1);

/** What one row of the trace says: its stamp or its reply. */
function toldAt(rec, column, at, what) {
  const f = column[at].frame;
  if (!f || f.phase === "world") return "not sent";
  if (what === "reply") return replyText(f.reply, rec);
  return own(f.reply, "unsupported") ? "unsupported" : verdict(rec, column, at).stamp || "answered";
}
/** What the run says about `<executor>/place`, `…/stamp`, `…/reply`, `…/delta/<field>`,
 * `…/value/<field>`, `…/stamp@<step id>`, `…/reply@<step id>`. */
export function answer(rec, about) {
  const { column, what, field, at } = resolve(rec, about), n = column.length - 1;
  if (at) return toldAt(rec, column, at, what);
  if (what === "place") return verdict(rec, column, n).is;
  const last = lastReply(column);
  if (what === "reply") return replyText(last.said, rec);
  if (what === "stamp") {
    const now = verdict(rec, column, n).stamp;
    return now || (own(last.said, "unsupported") ? "unsupported" : verdict(rec, column, column.indexOf(last)).stamp || "answered");
  }
  const l = line(rec, field, column[n]);
  if (l.deleted) return "deleted";
  const shown = show(l.is, field, rec, column[n]);
  return what === "value" ? shown : l.delta || (l.changed ? shown : "0");
}

/** The step and the frame that made the difference: the last change or write, else what refused, else the telling read. */
function decided(rec, { column, what, field, at }) {
  const sent = sentBy(column);
  if (!sent.length) return [null, null];
  if (at) return column[at].frame ? [at, column[at].frame] : [null, null];
  const vals = column.map((m) => {
    if (what === "place") return place(m.state, rec.subject);
    if (!field) return "";
    const l = line(rec, field, m);
    return JSON.stringify([l.is ?? null, l.deleted]);
  });
  const changed = sent.filter(([k]) => vals[k] !== vals[k - 1]);
  if (changed.length) return changed.at(-1);
  if (field) return writers(field, sent).at(-1) ?? [null, null];
  const acts = sent.filter(([, f]) => !["reply", "guard", "world"].includes(f.phase));
  const reads = (slot) => acts.filter(([, f]) => {
    const call = f.phase === "call";
    if (!call && f.phase !== "read" && f.phase !== "host") return false;
    const touched = [...(f.reads ?? []), ...(call ? [...(f.writes ?? []), ""] : [])];
    return touched.some((name) => slot === "" || slot === name || (slot === "row" && name.startsWith("row.")));
  });
  const first = (...lists) => lists.find((list) => list.length).at(-1);
  if (own(lastReply(column).said, "error")) return first(acts.filter(([, f]) => own(f.reply, "error")), reads(""), sent);
  // Of a token that was let through, the look at it decided; what was read after that is about something else.
  return first(what === "stamp" ? reads("row.attempts") : [], reads("row"), reads(""), acts, sent);
}
export const deciding = (rec, about) => decided(rec, resolve(rec, about))[1] ?? {};

/** Why the run says what it says, in one sentence: the deciding command, or that there is none. */
export function reason(rec, about) {
  const asked = resolve(rec, about), [step, f] = decided(rec, asked);
  if (!f && !sentBy(asked.column).length) return "Nothing was sent.";
  if (!f && asked.at) return "Nothing was sent for this.";
  if (!f) return `No ${asked.others.some((one) => writers(asked.field, sentBy(one)).length) ? `${asked.name} ` : ""}command wrote ${label(asked.field)}.`;
  const command = commandText(f, rec), told = replyText(f.reply, rec);
  return `Step ${step} decided it: ${command ? command + (told ? ` → ${told}.` : ".") : `the answer ${told}.`}`;
}
export function judge(rec, question, guess) {
  const right = answer(rec, question.about), [step, f] = decided(rec, resolve(rec, question.about));
  const same = (t) => t.trim().replaceAll("−", "-"), ok = same(guess) === same(right);
  const sentence = `You said ${guess}${ok ? ". " : `; it is ${right}. `}${reason(rec, question.about)}`;
  return { ok, guess, answer: right, step, command: f ? commandText(f, rec) : null, sentence };
}

// ---------------------------------------------------------------- the rails

const timed = (name) => name === "active" || name === "schedule";
/** The recording's axis; where the clock moves, widened so that every moment, lease and due time of a minute is on it. */
function axisOf(rec, all) {
  const [from, to] = rec.axis ?? [-12000, 44000], moved = all.flat().filter((m) => m.clock !== rec.now_ms);
  const scores = moved.flatMap((m) => ["active", "schedule"].flatMap((s) => members(m.state, s).map((id) => +m.state.sets[s][id])).filter((t) => t - m.clock <= 60000));
  const last = Math.max(-Infinity, ...[...scores, ...moved.map((m) => m.clock)].map((t) => t - rec.now_ms));
  return [Math.min(from, ...moved.map((m) => m.clock - rec.now_ms)), last > to - (to - from) / 5 && scores.length ? Math.max(to, last + (last - from) / 5) : Math.max(to, last)];
}
const scale = (rec, W) => (ms) => 4 + Math.max(0, Math.min(1, (ms - rec.now_ms - rec.axis[0]) / (rec.axis[1] - rec.axis[0]))) * (W - 8);
const beyond = (rec, ms) => ms - rec.now_ms > rec.axis[1] || ms - rec.now_ms < rec.axis[0];
function tickOf(rec) {
  const span = rec.axis[1] - rec.axis[0];
  return [5, 10, 30, 60, 300, 600, 1800, 3600, 21600, 86400].map((s) => s * 1000).find((ms) => span / ms <= 24) ?? span;
}

/** Which rails, how high, and in which lane of a time rail an id goes: one each, as far as they go. */
function plan(rec, all) {
  const names = rails(all), lane = new Map();
  let top = 0;
  const at = names.map((name) => {
    const ids = timed(name) ? [...new Set(all.flat().flatMap((m) => members(m.state, name)))].sort((a, b) => (b === rec.subject) - (a === rec.subject) || (a < b ? -1 : 1)) : [];
    ids.forEach((id, k) => lane.set(`${name}/${id}`, k % LANES));
    const rail = { name, top, rows: Math.max(1, Math.min(LANES, ids.length)) };
    top += rail.rows * PITCH;
    return rail;
  });
  return { names, at, lane, height: top, of: (name) => at.find((r) => r.name === name) };
}

/** Where each chip sits. A shelf keeps the slot of an id that has left, so nothing jumps; a full one counts the rest.
 * An id that is in several sets has a chip in each: one in `out`, which moves, the others in `also`. */
function spots(rec, layout, { state, since, clock }, W) {
  const x = scale(rec, W), out = new Map(), also = [], more = [];
  for (const { name, top } of layout.at) {
    const here = members(state, name);
    if (timed(name)) for (const id of here) {
      const score = +state.sets[name][id], at = x(score), over = score <= clock;
      const y = top + (layout.lane.get(`${name}/${id}`) ?? 0) * PITCH + 7;
      if (out.has(id)) also.push([id, out.get(id)]);
      out.set(id, { rail: name, score, at, over, x: Math.max(1, Math.min(over ? at - CHIP - 2 : at + 2, W - CHIP - 1)), y });
    } else {
      let slots = [...new Set([...members(rec.before, name), ...members(since, name), ...here])].sort();
      if (slots.length * (CHIP + 8) + 10 > W) {
        const room = Math.max(1, Math.floor((W - 46) / (CHIP + 8))), kept = slots.slice(0, room);
        if (slots.includes(rec.subject) && !kept.includes(rec.subject)) kept[room - 1] = rec.subject;
        slots = kept;
        const hidden = here.filter((id) => !kept.includes(id)).length;
        if (hidden) more.push({ x: 12 + room * (CHIP + 8), y: top + 22, text: `+${hidden}` });
      }
      for (const id of here) if (slots.includes(id)) {
        const s = { rail: name, score: null, x: 10 + slots.indexOf(id) * (CHIP + 8), y: top + 7 };
        out.has(id) ? also.push([id, s]) : out.set(id, s);
      }
    }
  }
  return { out, also, more };
}

const SEAL = "M-4-9.5H4L9.5-4V4L4 9.5H-4L-9.5 4V-4Z";
const seal = (n, cls = "") => `<g class="seal ${cls}"><path d="${SEAL}"/><text text-anchor="middle" y="4">${esc(n.length > 2 ? "…" : n)}</text></g>`;
const nowLine = (x, W, from, to) => `<path class="now" d="M${x} ${from}V${to}"/>` +
  (x > W - 34 ? `<text class="small" text-anchor="end" x="${x - 4}" y="${to + 3}">now</text>` : `<text class="small" x="${x + 4}" y="${to + 3}">now</text>`);

/** A lease or a due time: a bar between now and the score, ahead (full) or behind (dashed). */
function bar(rec, s, now, clock, W, past) {
  const y = s.y + TALL / 2, [a, b] = s.over ? [s.at, now] : [now, s.at], off = beyond(rec, s.score);
  const word = until(s.rail, s.score, clock);
  const end = Math.min(b, s.x), half = word.length * 2.9, mid = Math.max(half, Math.min(W - half, (a + end) / 2));
  const right = now + 6 + 2 * half < W;
  // Expired: behind the now line; where that is too narrow in two lines, the rail between them, else above the chip.
  const [one, rest] = [word.slice(0, word.indexOf(" ")), word.slice(word.indexOf(" ") + 1)], two = s.rail === "active" && now + 6 + 5.8 * Math.max(one.length, rest.length) < W;
  const text = s.over && !right && two ? `<text class="small" x="${now + 6}" y="${y - 5}">${one}<tspan x="${now + 6}" y="${y + 13}">${rest}</tspan></text>`
    : s.over ? `<text class="small" ${right ? `x="${now + 6}"` : `x="${now - 6}" text-anchor="end"`} y="${y - (right ? 5 : 13)}">${word}</text>`
    // Too long for its bar: beside the chip, else before the now line, so that the line does not cross it.
    : end - a < 2 * half ? `<text class="small" ${s.x + CHIP + 6 + 2 * half < W ? `x="${s.x + CHIP + 6}"` : `x="${now - 6}" text-anchor="end"`} y="${y - 5}">${word}</text>`
    : `<text class="small" text-anchor="middle" x="${mid}" y="${y - 8}">${word}</text>`;
  return `<g class="${past ? "past" : ""}"><rect class="lease ${s.over ? "over" : ""}" x="${a}" y="${y - 4}" width="${Math.max(0, b - a)}" height="8"/>` +
    `<path class="post ${off ? "off" : ""}" d="M${s.at} ${y - 9}v18"/>${text}</g>`;
}
/** From where the job stood to where it is: straight if it can, else along the gap beside its rail, behind no chip. */
function trail(s, t, other) {
  const u = t.y > s.y ? 1 : -1, lo = Math.max(s.x, t.x) + 12, hi = Math.min(s.x, t.x) + CHIP - 12, y0 = s.y + (u > 0 ? TALL : 0), y1 = u > 0 ? t.y - 3 : t.y + TALL + 3;
  const x0 = s.x + CHIP / 2, x1 = t.x + CHIP / 2, v = t.x > s.x ? 1 : -1, gap = y0 + 7 * u, r = 4;
  const way = lo <= hi ? `M${(lo + hi) / 2} ${y0}V${y1}`
    : `M${x0} ${y0}V${gap - r * u}Q${x0} ${gap} ${x0 + r * v} ${gap}H${x1 - r * v}Q${x1} ${gap} ${x1} ${gap + r * u}V${y1}`;
  return `<path class="trail ${other ? "other" : ""}" d="${way}m-4 ${-5 * u}l4 ${5 * u}l4 ${-5 * u}"/>`;
}

function drawRails(svg, rec, layout, m, W, was = rec.now_ms) {
  const x = scale(rec, W), now = x(m.clock), { out, also, more } = spots(rec, layout, m, W), start = spots(rec, layout, { ...m, state: m.since, clock: was }, W);
  const keyOf = (id, s) => `${s.rail} ${id}`, stands = new Set([...out, ...also].map(([id, s]) => keyOf(id, s)));
  let back = "";
  for (const { name, top, rows } of layout.at) {
    const set = get(m.state.sets, name);
    for (let k = 0; k < rows; k++) {
      const y = top + k * PITCH + PITCH / 2;
      back += `<path class="rail ${name === "no set" ? "none" : ""}" d="M0 ${y + (timed(name) || name === "no set" ? 0 : 13)}H${W}"/>`;
      const tick = tickOf(rec);
      if (timed(name)) for (let t = Math.ceil(rec.axis[0] / tick) * tick; t <= rec.axis[1]; t += tick) back += `<path class="rail" d="M${x(rec.now_ms + t)} ${y - 3}v6"/>`;
    }
    if (plain(set) && set) back += `<text class="small" x="10" y="${top + 12}">a ${esc(set)}, not a sorted set</text>`;
  }
  const active = layout.of("active"), due = layout.of("schedule");
  back += nowLine(now, W, active.top + 1, due.top + due.rows * PITCH - 3);
  for (const [, s] of [...out, ...also]) if (s.score != null) back += bar(rec, s, now, m.clock, W);
  for (const s of more) back += `<text class="small" x="${s.x}" y="${s.y}">${s.text}</text>`;
  for (const [id, s] of [...start.out, ...start.also]) {
    const t = out.get(id);
    if (stands.has(keyOf(id, s))) continue;
    if (s.score != null && m.clock === was) back += bar(rec, s, now, m.clock, W, true);
    back += `<rect class="was" x="${s.x}" y="${s.y}" width="${CHIP}" height="${TALL}" rx="4"/><text class="id" x="${s.x + 7}" y="${s.y + 15}">${esc(id.slice(-4))}</text>`;
    if (t) back += trail(s, t, id !== rec.subject);
  }
  svg.setAttribute("width", W); svg.setAttribute("height", layout.height);
  svg.back.innerHTML = back;
  for (const [id, s] of out) drawChip(svg, rec, m, id, s);
  for (const [id, s] of also) drawChip(svg, rec, m, id, s, keyOf(id, s));
  const drawn = new Set([...out.keys(), ...also.map(([id, s]) => keyOf(id, s))]);
  for (const [key, g] of svg.chips) if (!drawn.has(key)) { g.remove(); svg.chips.delete(key); }
}
function drawChip(svg, rec, m, id, s, key = id) {
  let g = svg.chips.get(key);
  if (!g) {
    g = document.createElementNS(svg.namespaceURI, "g");
    svg.append(g); svg.chips.set(key, g);
  }
  const row = get(m.state.rows, id), n = String(get(row, "attempts") ?? ""), away = s.rail === "no set" ? astray(rec, m, id) : "";
  g.setAttribute("class", `chip ${id === rec.subject ? "" : "other"} ${row ? "" : "ghost"} ${away}`);
  g.innerHTML = `<title>${esc(id)}</title><rect width="${CHIP}" height="${TALL}" rx="4"/><text x="7" y="15">${esc(id.slice(-4))}</text>` +
    (/^[1-9]\d*$/.test(n) ? `<g transform="translate(${CHIP - 13},11)">${seal(n)}</g>` : "") +
    (away === "held" ? `<text class="small" x="${CHIP + 6}" y="15">in hand</text>` : "");
  g.style.transform = `translate(${s.x}px,${s.y}px)`;
}

// ---------------------------------------------------------------- two workers, one server

/** The events of a plan (emqlab.teach.plan), in the order in which they are told of; and how far one may be moved. */
const EVENTS = { "A-claims": "A claims", "A-stalls": "A falls silent", sweep: "the sweep", "B-claims": "B claims", "A-completes": "A completes", "B-completes": "B completes" };
const LAST_S = 120, PAUSE_MS = 500;
const seconds = (s) => `${Math.round(s * 10) / 10}`;
const leased = (rec, m) => own(get(m.state.sets, "active"), rec.subject);
/** Whether a frame leased the subject: it was not in active, and then it was. */
const claims = (rec, ms, n) => ms[n + 1].frame?.phase === "call" && leased(rec, ms[n + 1]) && !leased(rec, ms[n]);
/** Whether all executors were answered alike, row by row. */
export const alike = (rec, all) => rec.steps.every((_, n) => new Set(all.map((ms) => JSON.stringify(ms[n + 1].frame && [ms[n + 1].frame.reply ?? null]))).size === 1);
/** The plan that ran, as the recording has it: each of its events with its seconds, in order. */
const planOf = (rec) => (rec.plan ?? "").split(" ").map((word) => word.split("@")).filter(([kind]) => own(EVENTS, kind)).map(([kind, at]) => ({ kind, at: +at }));
const planText = (events) => events.map((e) => `${e.kind}@${seconds(e.at)}`).join(" ");
/** One event moved, or taken out (null), or added; of events at one time each stays on the side that it came from. */
const replanned = (events, kind, at) => [...events.filter((e) => e.kind !== kind || at != null).map((e) => (e.kind === kind ? { kind, at } : e)),
  ...(at != null && !events.some((e) => e.kind === kind) ? [{ kind, at }] : [])].sort((a, b) => a.at - b.at);

/** What the diagram shows, in ms after the start: to the last row, with room to drag an event past it. */
function span(rec, all) {
  const last = Math.max(1000, ...all.flat().map((m) => m.clock - rec.now_ms));
  return [-last / 16, last * 1.18];
}
const tickOver = (ms) => [1, 2, 5, 10, 20, 60].map((s) => s * 1000).find((one) => ms / one <= 12) ?? 120000;

/** The labels of one lane in rows: each goes into the first row where it meets no other. */
function stacked(labels) {
  const ends = [];
  for (const l of labels.sort((a, b) => a.from - b.from)) {
    l.row = ends.findIndex((end) => end < l.from);
    if (l.row < 0) l.row = ends.length;
    ends[l.row] = l.to;
  }
  return Math.max(1, ends.length);
}
/** What is written beside an event: the deed, and the answer once it is known. */
function eventLabel(rec, f, word, claim) {
  const deed = word.replace(/^[AB] /, "");
  if (!f || f.by === "server") return [deed, ""];
  if (f.phase === "world") return [deed, /completes$/.test(word) ? "no token" : ""];
  const ok = f.reply?.ok;
  return [deed, f.reply?.error ? "refused" : ok === 1 ? "done" : ok === 0 ? "gone already" : claim ? "" : "nothing"];
}

/**
 * One server's time-space diagram. Time runs right; with one executor on the same scale and from the same edge as the
 * active rail below. `ms` has every moment, or with `plan` only the events are drawn, and nothing of what came of them.
 */
function drawTime(svg, rec, ms, i, left, W, view) {
  const wide = W - left > 480, d = wide ? 11 : 6, at = scale(view, W - left), x = (t) => left + at(t);
  const fr = view.plan ? view.plan.map((e, n) => ({ f: { by: e.kind === "sweep" ? "server" : e.kind[0] }, n, t: rec.now_ms + e.at * 1000, word: EVENTS[e.kind], kind: e.kind }))
    : ms.map((m, n) => ({ f: m.frame, n: n - 1, t: m.clock, word: rec.steps[n - 1]?.word, kind: rec.steps[n - 1]?.id })).filter((e) => e.f);
  const last = x(Math.max(...fr.map((e) => e.t)));
  const marks = fr.map(({ f, n, t, word, kind }) => {
    const X = x(t), who = f.by === "A" || f.by === "B" ? f.by : "server", claim = !view.plan && claims(rec, ms, n);
    const [deed, ans] = eventLabel(rec, view.plan ? null : f, word, claim), size = wide ? (deed.length + (ans ? ans.length + 2 : 0)) * 6.1 : 0;
    // A label goes to the left where it would leave the page, or be crossed by the line that now stands at in the end.
    const middle = who === "server", ends = X + 16 + size, flip = !middle && (ends > W || (wide && !view.plan && X < last && ends > last - 4 && X - size > left));
    const reach = middle ? Math.max(14, size / 2 + 4) : 14, right = flip || !wide ? 12 : 20 + size;
    return { X, who, claim, deed, ans, flip, f, n, t, kind, from: X - (middle ? reach : flip ? 20 + size : 12), to: X + (middle ? reach : right) };
  });
  const rows = Object.fromEntries(["A", "server", "B"].map((who) => [who, stacked(marks.filter((m) => m.who === who))]));
  const pitch = 22, high = wide ? 36 : 22, gap = (wide ? 74 : 60) + (rows.server - 1) * high;
  const lane = { A: 24 + pitch * rows.A }; // the first row of labels is 20 above its line
  lane.server = lane.A + gap; lane.B = lane.server + (wide ? 74 : 60);
  const floor = lane.B + 16 + pitch * rows.B, H = floor + 22, cls = (n) => (view.plan ? "" : n >= i ? "later" : n === i - 1 ? "here" : "");
  const spotY = (m) => lane[m.who] + (m.who === "B" ? 1 : -1) * (m.who === "server" ? 24 + m.row * high : 20 + m.row * pitch);
  let back = "", front = "";
  const tick = tickOver(view.axis[1] - view.axis[0]);
  for (let t = 0; t <= view.axis[1]; t += tick)
    back += `<path class="rail tick" d="M${x(rec.now_ms + t)} ${lane.A}V${floor}"/>${x(rec.now_ms + t) > W - 12 ? "" : `<text class="small" text-anchor="middle" x="${x(rec.now_ms + t)}" y="${floor + 14}">${t / 1000}${t ? "" : " s"}</text>`}`;
  for (const [n, y] of Object.entries(lane))
    back += `<path class="rail" d="M${left} ${y}H${W}"/><text class="who" x="${wide ? 18 : 0}" y="${y + 4}">${n === "server" ? n : `worker ${n}`}</text>`;

  // what the server holds: leased, expired, waiting; the same bar as on the active rail
  const spell = (kind, a, b, n, word) => {
    const y = lane.server, w = b - a;
    back += kind === "wait" ? `<path class="wait ${cls(n)}" d="M${a} ${y}H${b}"/>` : `<rect class="lease ${kind} ${cls(n)}" x="${a}" y="${y - 5}" width="${w}" height="10"/>`;
    if (wide && w > word.length * 5.6 + 4) back += `<text class="small ${cls(n)}" text-anchor="middle" x="${(a + b) / 2}" y="${y + 20}">${word}</text>`;
  };
  const spells = [];
  for (const { n, t } of view.plan ? [] : fr) {
    const st = ms[n + 1].state, score = +(get(get(st.sets, "active"), rec.subject) ?? 0), where = place(st, rec.subject), open = spells.at(-1);
    if (open) open.to = x(t);
    if (open?.key !== where + score) spells.push({ key: where + score, score, where, n, x: x(t), to: x(t), token: get(get(st.rows, rec.subject), "attempts") ?? "" });
  }
  for (const s of spells) {
    const due = s.score ? Math.min(s.to, x(s.score)) : s.to;
    if (s.score) {
      spell("", s.x, due, s.n, `leased, token ${esc(s.token)}`);
      if (due < s.to) spell("over", due, s.to, s.n, "expired");
      if (x(s.score) <= s.to) back += `<path class="post ${cls(s.n)}" d="M${due} ${lane.server - 10}v20"/>`;
    } else if (s.where === "pending" || s.where === "dead") spell("wait", s.x, s.to, s.n, s.where);
  }

  const held = {}, spans = [], now = x(ms[i].clock);
  const hold = (who, on, until, n) => {
    for (const [cl, to] of [["later", until], ["", Math.min(until, n < i ? until : now)]])
      if (to > on.x && (cl || on.n < i)) back += `<path class="hold ${on.silent} ${cl}" d="M${on.x} ${lane[who]}H${to}"/>`;
  };
  for (const m of marks) {
    const { X, who, claim, deed, ans, flip, row, f, n, kind } = m, server = who === "server", y = lane[who], up = who === "B" ? 1 : -1, edge = lane.server + up * 7, c = cls(n), bad = f.reply?.error ? "bad" : "";
    if (!server && !view.plan) {
      const on = held[who];
      if (on) hold(who, on, f.phase === "call" ? X - d : X, n);
      const keeps = on && !bad && leased(rec, ms[n]) && leased(rec, ms[n + 1]); // an extension
      if (on && f.phase === "call" && !keeps) spans.push({ who, from: on.since, to: X, n });
      held[who] = f.phase === "world" ? (on ? { x: X, n, since: on.since, silent: "silent" } : null) : claim || keeps ? { x: X + d, n, since: keeps ? on.since : X, silent: "" } : null;
      if (f.phase === "call") {
        const tip = (x0, y0, x1, y1) => { const L = Math.hypot(x1 - x0, y1 - y0), ux = (x1 - x0) / L, uy = (y1 - y0) / L; return `M${x1 - 6 * ux - 3 * uy} ${y1 - 6 * uy + 3 * ux}L${x1} ${y1}L${x1 - 6 * ux + 3 * uy} ${y1 - 6 * uy - 3 * ux}`; };
        const dy = edge - y;
        back += `<path class="msg ${c}" d="M${X - d} ${y}l${d} ${dy}${tip(X - d, y, X, edge)}"/><path class="msg ${bad} ${c}" d="M${X} ${edge}l${d} ${-dy}${tip(X, edge, X + d, y)}"/>`;
      }
    }
    // the label: a number, the deed, the answer
    const ly = spotY(m), stem = row ? `<path class="stem ${c}" d="M${X} ${ly - up * 9}V${y + up * 9}"/>` : "";
    back += stem;
    front += `<g class="event ${c} ${bad} ${view.plan ? "open" : ""}" data-n="${n + 1}" data-kind="${kind}" transform="translate(${X},${ly})"><rect class="hit" x="-14" y="-14" width="28" height="28"/><circle r="9"/><text text-anchor="middle" y="4">${view.plan && wide ? "" : n + 1}</text></g>`;
    if (wide) front += `<text class="${c}" text-anchor="${server ? "middle" : flip ? "end" : "start"}" x="${X + (server ? 0 : flip ? -14 : 14)}" y="${server ? ly - 15 : ly + 4}">${esc(deed)}${ans ? `, <tspan class="${bad}">${ans}</tspan>` : ""}</text>`;
    if (f.token != null) front += `<g class="${c}" transform="translate(${claim ? X + d : X - d},${y})">${seal(String(f.token), bad)}</g>`;
  }
  // who never gave up believes to the end
  const end = x(ms.at(-1).clock);
  for (const [who, on] of Object.entries(held)) if (on) { hold(who, on, end, ms.length - 1); spans.push({ who, from: on.since, to: end, n: ms.length - 1 }); }
  // the seconds in which two workers believe they hold the job
  const both = spans.flatMap((p) => spans.filter((q) => p.who < q.who).map((q) => [Math.max(p.from, q.from), Math.min(p.to, q.to), Math.min(p.n, q.n)])).filter(([a, b]) => b > a)
    .map(([a, b, n]) => `<g class="${cls(n - 1)}"><rect class="both" x="${a}" y="${lane.A}" width="${b - a}" height="${lane.B - lane.A}"/>` +
      (wide ? `<text class="small" ${b - a > 90 ? `text-anchor="middle" x="${(a + b) / 2}"` : `text-anchor="end" x="${a - 4}"`} y="${lane.A + 20}">two holders</text>` : "") + "</g>").join("");
  svg.setAttribute("width", W); svg.setAttribute("height", H);
  svg.innerHTML = both + (view.plan ? "" : nowLine(now, W, 6, floor)) + back + front;
  // where each event's circle is, and how a time becomes a place: what moves them stands on the same spots
  const spots = Object.fromEntries(marks.map((m) => [m.kind, [m.X, spotY(m)]]));
  svg.made = { spots, x: (s) => x(rec.now_ms + s * 1000), second: at(rec.now_ms + 1000) - at(rec.now_ms), last: Math.floor(view.axis[1] / 1000), lines: [lane.A, floor] };
}

/**
 * The diagram with what moves its events: a slider on each, and the same as numbers. It stays on the page while runs
 * come and go, so that the focus stays where it is. `move(text)` is told a new plan, `go(n)` a row to stand at.
 */
function workersBox(uid, { go, move }) {
  const outcome = h("p", { class: "outcome", role: "status" }), says = h("p", { class: "alike" }), charts = h("div", { class: "charts" }), key = h("ol", { class: "key", "aria-hidden": "true" });
  const sliders = new Map(), boxes = new Map(), ghost = h("i", { class: "ghost", "aria-hidden": "true" }, h("b"));
  const list = h("ul"), numbers = h("details", { class: "numbers" }, h("summary", {}, "Move events by number"), list, h("p", { class: "hint" }, "An event whose box is empty does not happen."));
  const hint = h("p", { class: "hint" }, "Drag an event, or move it with the arrow keys: by a second, with Shift by a tenth.");
  const layer = h("div", { class: "layer" }), el = h("div", { class: "timebox" }, outcome, says, charts, layer, key, h("div", { class: "tools" }, hint, numbers));
  let rec, all, shown = [], held = false, draft = [], sent = "", movable = false, drawn = [], timer = null, now = 0;

  const clock = (kind) => draft.find((e) => e.kind === kind)?.at;
  const clamp = (s) => Math.max(0, Math.min(LAST_S, Math.round(s * 10) / 10));
  function place(kind, s) { draft = replanned(draft, kind, s == null ? null : clamp(s)); tell(); }
  function commit() {
    clearTimeout(timer); timer = null;
    const text = planText(draft);
    if (text === sent) return;
    sent = text; move(text);
  }
  function soon() { clearTimeout(timer); timer = setTimeout(commit, PAUSE_MS); }
  /** The sliders, the boxes and the ghost, as the draft has them; what ran stays drawn until another run has come. */
  function tell() {
    const made = drawn[0]?.made;
    let moved = null;
    for (const [kind, s] of sliders) {
      const at = clock(kind), before = draft[draft.findIndex((e) => e.kind === kind) - 1], spot = made?.spots[kind];
      s.hidden = at == null || !spot;
      const box = boxes.get(kind);
      if (document.activeElement !== box) box.value = at == null ? "" : seconds(at);
      if (s.hidden) continue;
      s.setAttribute("aria-valuenow", seconds(at));
      s.setAttribute("aria-valuetext", `${EVENTS[kind]} at ${seconds(at)} s, ${before ? `after ${EVENTS[before.kind]}` : "first of all"}`);
      const off = shown.find((e) => e.kind === kind)?.at !== at;
      s.style.left = `${off ? made.x(at) : spot[0]}px`; s.style.top = `${spot[1]}px`;
      s.classList.toggle("moved", off);
      s.dataset.number = drawn[0].querySelector(`[data-kind="${kind}"] text`)?.textContent ?? "";
      if (off) moved = [made.x(at), at, kind];
    }
    ghost.hidden = !moved;
    if (moved) {
      ghost.style.left = `${moved[0]}px`; ghost.style.top = `${made.lines[0]}px`; ghost.style.height = `${made.lines[1] - made.lines[0]}px`;
      const word = ghost.firstChild;
      put(word, `${EVENTS[moved[2]]}: ${seconds(moved[1])} s`);
      const half = word.offsetWidth / 2;
      word.style.left = `${Math.max(half, Math.min(el.clientWidth - half, moved[0])) - moved[0]}px`; // it stays on the page
    }
  }
  function keys(kind, e) {
    const at = clock(kind), end = drawn[0].made.last, by = e.shiftKey ? 0.1 : 1;
    const to = { ArrowLeft: at - by, ArrowDown: at - by, ArrowRight: at + by, ArrowUp: at + by, PageDown: at - 5, PageUp: at + 5, Home: 0, End: Math.max(at, end) }[e.key];
    if (e.key === "Tab" || e.ctrlKey || e.metaKey || e.altKey) return;
    e.stopPropagation();
    if (e.key === "Enter" || e.key === " ") { e.preventDefault(); return timer ? commit() : stand(kind); }
    if (e.key === "Escape") { clearTimeout(timer); timer = null; draft = shown; return tell(); }
    if (to === undefined) return;
    e.preventDefault();
    place(kind, to); soon();
  }
  const stand = (kind) => { const n = rec.steps.findIndex((s) => s.id === kind); if (n >= 0) go(n + 1); };
  function slider(kind) {
    const s = h("div", { class: "slider", role: "slider", tabindex: 0, "data-kind": kind, "aria-label": EVENTS[kind], "aria-valuemin": 0, "aria-valuemax": LAST_S, "aria-orientation": "horizontal",
      onkeydown: (e) => keys(kind, e), onblur: () => timer && commit() });
    let from = null;
    const drop = (e, keep) => {
      if (!from) return;
      const moved = from.moved, was = from.draft;
      from = null; s.classList.remove("dragging");
      if (!keep) { draft = was; return tell(); }
      if (moved) commit(); else if (e) stand(kind);
    };
    s.addEventListener("pointerdown", (e) => {
      if (e.button) return;
      clearTimeout(timer); timer = null;
      from = { x: e.clientX, at: clock(kind), draft, moved: false };
      s.setPointerCapture(e.pointerId); s.focus({ preventScroll: true }); e.preventDefault();
    });
    s.addEventListener("pointermove", (e) => {
      if (!from || (!from.moved && Math.abs(e.clientX - from.x) < 4)) return;
      from.moved = true; s.classList.add("dragging");
      const { last, second } = drawn[0].made;
      place(kind, Math.min(Math.max(last, from.at), Math.round(from.at + (e.clientX - from.x) / second)));
    });
    s.addEventListener("pointerup", (e) => drop(e, true));
    s.addEventListener("pointercancel", () => drop(null, false));
    return s;
  }
  function box(kind) {
    const input = h("input", { type: "number", min: 0, max: LAST_S, step: "any", inputmode: "decimal", onchange: () => take() && soon(),
      onkeydown: (e) => { if (e.key === "Enter") { e.preventDefault(); if (take()) commit(); } } });
    /** What was typed, into the draft: an empty box takes the event out. Whether it could be. */
    function take() {
      const s = input.value === "" && !input.validity.badInput ? null : input.valueAsNumber, fits = s == null || (s >= 0 && s <= LAST_S);
      input.setCustomValidity(fits ? "" : `Seconds go from 0 to ${LAST_S}.`);
      if (fits) place(kind, s); else input.reportValidity();
      return fits;
    }
    list.append(h("li", {}, h("label", {}, h("span", {}, `${EVENTS[kind]} at`), input, " s")));
    return input;
  }
  for (const kind of Object.keys(EVENTS)) { sliders.set(kind, slider(kind)); boxes.set(kind, box(kind)); }

  return {
    el,
    /** Another run, or the same one revealed. */
    load(run, moments, hold, editable) {
      rec = run; all = moments; held = hold; movable = editable;
      shown = planOf(rec);
      if (!timer) { draft = shown; sent = planText(shown); }
      const same = alike(rec, all), main = Math.max(0, rec.executors.findIndex((e) => e.kind === "native"));
      const names = rec.executors.map((e) => e.title).join(" and "), all_of_them = `${names[0].toUpperCase()}${names.slice(1)}`;
      put(says, held || rec.executors.length === 1 ? "" : same ? `${all_of_them} give the same answers here; drawn: ${rec.executors[main].title}.` : `${all_of_them} part here: each has its own diagram.`);
      const met = (ms) => rec.steps.flatMap((s, n) => (/ completes$/.test(s.word) && ms[n + 1].frame ? `${s.word}: ${eventLabel(rec, ms[n + 1].frame, s.word)[1]}` : [])).join("; ");
      put(outcome, held || !same ? "" : met(all[main]));
      outcome.hidden = !outcome.textContent; says.hidden = !says.textContent;
      const which = held || same ? [main] : [main, ...rec.executors.keys()].filter((e, n, them) => them.indexOf(e) === n);
      charts.replaceChildren();
      drawn = which.map((e) => {
        const svg = svgNode("timespace");
        svg.column = e;
        svg.addEventListener("click", (event) => { const g = event.target.closest(".event"); if (g && !held) go(+g.dataset.n); });
        charts.append(h("div", { class: "chart" }, which.length > 1 ? h("p", { class: "outcome" }, h("code", {}, rec.executors[e].title), ` ${met(all[e])}`) : null, svg));
        return svg;
      });
      key.replaceChildren(...(held ? shown.map((e) => EVENTS[e.kind]) : rec.steps.map((s) => s.word)).map((word) => h("li", {}, word)));
      hint.hidden = numbers.hidden = !movable;
      if (movable && !layer.firstChild) layer.append(ghost, ...sliders.values());
    },
    /** The moment `i`, drawn from `left` to the right edge. */
    draw(i, left) {
      now = i;
      const W = el.clientWidth, one = rec.executors.length === 1, axis = one && !movable ? rec.axis : span(rec, all);
      if (!W) return;
      const from = one && !movable ? left : W < 560 ? 62 : Math.min(left, 116);
      el.classList.toggle("tiny", W - from <= 480);
      for (const svg of drawn) drawTime(svg, rec, all[svg.column], now, from, W, { now_ms: rec.now_ms, axis, plan: held ? shown : null });
    },
    /** What moves the events, put over the diagram that was drawn. */
    seat() {
      if (!el.clientWidth) return;
      layer.style.top = `${drawn[0].getBoundingClientRect().top - el.getBoundingClientRect().top}px`;
      if (movable) tell();
    },
    /** Nothing came of what was moved: what ran is shown again. */
    reset() { if (timer) return; draft = shown; sent = planText(shown); if (movable && drawn.length) tell(); },
    stop() { clearTimeout(timer); },
  };
}

// ---------------------------------------------------------------- two budgets

/**
 * What each executor has spent after each move, of a recording of whole calls that has a `cap`: scripts cap attempts,
 * verbs failures. `moves` are [name, the step that ends it]; `died` is the first move after which the job was dead.
 */
export function budgets(rec) {
  const moves = [], all = moments(rec, true);
  rec.steps.forEach(({ id }, k) => {
    const name = id.split("#")[0];
    if (moves.length && (name === "promote" || name === "stalled_check")) moves.at(-1)[1] = k + 1;
    else moves.push([name === "advance" ? "lapse" : name, k + 1]);
  });
  const stops = [0, ...moves.map(([, end]) => end)], isDead = (m) => place(m.state, rec.subject).split(" + ").includes("dead");
  const columns = rec.executors.map((ex, e) => {
    const counter = ex.kind === "script" ? "attempts" : "failures";
    const each = all[e].map((m) => { const { is } = line(rec, `row/${counter}`, m); return [/^\d+$/.test(is ?? "") ? +is : 0, isDead(m)]; });
    const died = stops.findIndex((at) => each[at][1]);
    return { name: ex.name, counter, each, spent: stops.map((at) => each[at][0]), died: died < 0 ? null : died };
  });
  return { moves, cap: +rec.cap, columns, parted: moves.map(([, at]) => unlike(columns, at)) };
}
/** Whether after a step the job is dead for one executor and not for another. */
const unlike = (columns, at) => new Set(columns.map((c) => c.each[at][1])).size > 1;
/** A column's cell after a move, in words. */
const spentAt = ({ cap }, c, k) => `${c.counter} ${c.spent[k]} of ${cap}${c.died !== null && k >= c.died ? ", dead" : ""}`;

/**
 * Moves run right, one column each, from the stage's own left edge; a click goes to the end of a move. A move is filled
 * from its first step on, with what has been spent by the step on show; what comes later is faded.
 */
function drawBudgets(svg, rec, found, i, left, W, go) {
  const { moves, cap, columns, parted } = found, wide = W - left > 520, right = wide ? 124 : 8;
  const most = Math.max(cap, ...columns.flatMap((c) => c.spent)), unit = Math.max(12, Math.min(24, Math.floor(144 / most)));
  const pitch = Math.min(96, (W - left - right) / Math.max(1, moves.length)), top = parted.includes(true) ? 34 : 16, floor = top + unit * most, flat = pitch >= 48;
  const H = floor + (flat ? 43 : 74), end = left + pitch * moves.length, x = (k) => left + pitch * k, y = (v) => floor - unit * v;
  const here = i ? moves.findIndex(([, to]) => to >= i) : -1, faded = (yes) => (yes ? "later" : "");
  const later = (k) => faded(k > here), apart = (k) => faded(k > here || (k === here && !unlike(columns, i)));
  let back = "", front = "";
  moves.forEach(([name], k) => {
    if (parted[k]) back += `<rect class="both ${apart(k)}" x="${x(k)}" y="${top - 28}" width="${pitch}" height="${floor - top + 28}"/>`;
    if (parted[k] && !parted[k - 1]) front += `<text class="${apart(k)}" x="${x(k) + pitch / 2}" y="${top - 14}" text-anchor="middle">≠</text>`;
    if (k === here) back += `<rect class="here" x="${x(k)}" y="${floor}" width="${pitch}" height="${H - floor}"/>`;
    const mid = x(k) + pitch / 2;
    front += `<text class="small ${later(k)}" text-anchor="middle" x="${mid}" y="${floor + 18}">${k + 1}</text>` +
      (flat ? `<text class="${later(k)}" text-anchor="middle" x="${mid}" y="${floor + 35}">${esc(name)}</text>`
        : `<text class="${later(k)}" text-anchor="end" transform="translate(${mid + 5},${floor + 31}) rotate(-50)">${esc(name)}</text>`);
  });
  for (let v = 0; v <= most; v++) {
    back += `<path class="rail" d="M${left} ${y(v)}H${end}"/>`;
    if (v !== cap) front += `<text class="small" text-anchor="end" x="${left - 8}" y="${y(v) + 4}">${v}</text>`;
  }
  back += `<path class="cap" d="M${left} ${y(cap)}H${end}"/>`;
  front += `<text text-anchor="end" x="${left - 8}" y="${y(cap) + 4}">max_attempts ${cap}</text>`;
  const crosses = columns.filter((c) => c.died !== null).map((c) => `${c.died}/${c.spent[c.died]}`), one = new Set(crosses).size < crosses.length;
  columns.forEach((c, e) => {
    const way = (after) => `M${left} ${y(c.spent[0]) + 3 * e}${after.map((v) => `V${y(v) + 3 * e}h${pitch}`).join("")}`;
    const done = here < 0 ? [] : [...c.spent.slice(1, here + 1), c.each[i][0]];
    back += `<path class="spent s${e} later" d="${way(c.spent.slice(1))}"/><path class="spent s${e}" d="${way(done)}"/>`;
    if (c.died === null) return;
    const cx = x(c.died) - pitch / 2 + (one ? 18 * e - 9 : 0), cy = y(c.spent[c.died]) + 3 * e;
    front += `<g class="dead ${faded(!c.each[i][1])}"><title>dead</title><circle cx="${cx}" cy="${cy}" r="8"/><text text-anchor="middle" x="${cx}" y="${cy + 4}">†</text></g>`;
  });
  if (wide) columns.map((c, e) => [y(c.spent.at(-1)) + 3 * e, c, e]).sort((a, b) => a[0] - b[0]).reduce((low, [at, c, e]) => {
    const ty = Math.max(at, low + 32), [spent, dead] = c.each[i];
    front += `<text class="who s${e}" x="${end + 10}" y="${ty}">${esc(rec.executors[e].title)}</text><text class="small" x="${end + 10}" y="${ty + 14}">${c.counter} ${spent}${dead ? ", dead" : ""}</text>`;
    return ty;
  }, -100);
  svg.setAttribute("width", W); svg.setAttribute("height", H);
  svg.innerHTML = back + front;
  svg.onclick = (e) => { const k = Math.floor((e.clientX - svg.getBoundingClientRect().left - left) / pitch); if (moves[k]) go(moves[k][1]); };
}

// ---------------------------------------------------------------- a pick made of moves

const manyMoves = (n) => (n === 0 ? "no moves" : n === 1 ? "1 move" : `${n} moves`);
/**
 * A text of moves, drawn as a line of removable tokens with a button a move to add one. `choose` hears the new text.
 * Answers the element and a function that shows a text. Focus stays where the reader is, also when a token goes.
 */
function movesPick(p, choose) {
  let moves = [], past = [];
  const most = p.most ?? 12, live = h("p", { class: "quiet", "aria-live": "polite" }), many = h("span", { class: "many" });
  const list = h("ol", { "aria-label": "the history" }), text = () => moves.join(" ");
  const dim = (button, yes) => (yes ? button.setAttribute("aria-disabled", "true") : button.removeAttribute("aria-disabled"));
  const button = (name, act, props = {}) => h("button", { type: "button", onclick: act, ...props }, name);
  function change(to, said) {
    past.push(text()); moves = to;
    draw(); put(live, `${said}, ${manyMoves(moves.length)}`);
    choose(text());
  }
  const add = p.options.map((o) => button(`+ ${o.label}`, () => (moves.length < most ? change([...moves, o.value], `${o.value} added`) : put(live, `${most} moves are the most`)), { title: o.about }));
  const undo = button("undo", () => {
    if (!past.length) return;
    moves = past.pop().split(" ").filter(Boolean);
    draw(); put(live, `undone, ${manyMoves(moves.length)}`); choose(text());
  });
  const clear = button("clear", () => { if (moves.length) change([], "cleared"); });
  const start = h("select", { onchange: () => { const o = p.presets[start.selectedIndex]; if (o) change(o.value.split(" "), o.label); } },
    p.presets.map((o) => h("option", { value: o.value }, o.label)), h("option", { value: "", disabled: true }, "a history of your own"));
  function draw() {
    const at = [...list.children].findIndex((li) => li.contains(list.getRootNode().activeElement));
    list.replaceChildren(...moves.map((move, k) => h("li", {}, button([h("span", { class: "num" }, k + 1), move, h("span", { class: "x", "aria-hidden": "true" }, "×")],
      () => change(moves.filter((_, other) => other !== k), `${move} removed`), { "aria-label": `remove ${k + 1}: ${move}`, title: "remove" }))));
    if (at >= 0) (list.children[Math.min(at, moves.length - 1)]?.firstChild ?? add[0]).focus();
    list.classList.toggle("none", !moves.length);
    start.selectedIndex = p.presets.findIndex((o) => o.value === text());
    if (start.selectedIndex < 0) start.selectedIndex = p.presets.length;
    put(many, `${moves.length} of ${most} moves`);
    add.forEach((one) => dim(one, moves.length >= most));
    dim(undo, !past.length); dim(clear, !moves.length);
  }
  const what = h("details", { class: "what" }, h("summary", {}, "What each move sends"), h("dl", {}, p.options.flatMap((o) => [h("dt", {}, o.value), h("dd", {}, o.about)])));
  const el = h("fieldset", { class: "moves" }, h("legend", {}, p.label), p.presets.length ? h("label", { class: "pick" }, h("span", {}, "start from"), start) : null,
    list, h("div", { class: "kit" }, h("div", { class: "add", role: "group", "aria-label": "add a move" }, add), h("div", { class: "edit" }, undo, clear, many)), what, live);
  let drawn = false;
  return { el, set(v) { if (drawn && v === text()) return; drawn = true; moves = v.split(" ").filter(Boolean); draw(); } };
}

// ---------------------------------------------------------------- the widget

/** The host's ground decides: the nearest painted ancestor, wherever the widget stands. */
function isDark(node) {
  for (let n = node; n; n = n.parentElement ?? n.getRootNode().host) {
    const c = getComputedStyle(n).backgroundColor.match(/[\d.]+/g)?.map(Number);
    if (c && (c[3] ?? 1) > 0.5) return 0.3 * c[0] + 0.6 * c[1] + 0.1 * c[2] < 110;
  }
  return night.matches;
}
const svgNode = (cls) => {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", cls); svg.setAttribute("aria-hidden", "true");
  return svg;
};
/** The name of the file that a whole call ran, null where the frame says none. */
function fileOf(frame) {
  const [first, second] = frame?.command ?? [];
  return first === "EVALSHA" ? second : first?.startsWith("EMQ.") ? `${first.slice(4).toLowerCase().replaceAll(".", "_")}.py` : null;
}
/** JSON as `emqlab run` takes it, one command a line. */
const caseText = (c) => JSON.stringify(c, null, 1).replace(/\n {3,}/g, " ").replace(/\n {2}([\]}])/g, "$1");

function render({ model, el }) {
  // Each widget may have a module of its own: what tells them apart is kept by the page.
  const uid = `emq-${typeof model.model_id === "string" ? model.model_id : "page"}-${(window.emqStages = (window.emqStages ?? 0) + 1)}`;
  const wanted = model.get("picks") ?? [];
  let source, rec, all, layout, rows, columns = [], buttons = [];
  let i = 0, landing = 0, timer = null, patience = null, queued = "";
  // The latest choice that was not answered yet, the one the kernel is running, the one on show, all that were sent.
  let awaited = null, running = null, showing = null, sent = [];
  let asked = [], guesses = [], judged = null, held = false, answeredOnce = false;

  // -- the parts that are there from the start
  const say = h("p", { class: "quiet", "aria-live": "polite" });
  const trouble = h("p", { class: "trouble", role: "status" });
  const about = h("p", { class: "about" }), quiz = h("div", { class: "quiz" });
  const picks = h("div", { class: "picks" });
  const range = h("input", { type: "range", min: 0, step: 1, "aria-label": "Step", oninput: () => { stop(); go(+range.value); } });
  const count = h("span", { class: "count" });
  const run = h("button", { type: "button", class: "run", onclick: () => (held ? reveal(guesses) : timer ? stop() : play()) }, "Run");
  const skip = h("button", { type: "button", class: "skip", onclick: () => { reveal(null); run.focus(); } }, "Show me without guessing");
  const back = h("button", { type: "button", "aria-label": "Step back", onclick: () => { stop(); go(i - 1); } }, "← Back");
  const next = h("button", { type: "button", "aria-label": "Step forward", onclick: () => { stop(); go(i + 1); } }, "Step →");
  const body = h("div", { class: "body" });
  const root = h("section", { class: "emq", "data-lm-suppress-shortcuts": "true", "aria-labelledby": uid },
    h("header", {}, h("h3", { id: uid }, model.get("title") ?? ""), h("p", {}, model.get("question") ?? "")),
    picks, trouble, quiz, h("div", { class: "transport", role: "group", "aria-label": "Steps" }, run, skip, back, next, range, count), say, body);
  el.replaceChildren(root);
  const planPick = wanted.find((p) => p.kind === "plan");
  const diagram = model.get("view") === "workers" ? workersBox(uid, { go: (n) => { stop(); go(n); }, move: (text) => choose(planPick.name, text) }) : null;
  if (diagram) body.before(diagram.el);

  // -- picking a case: with `recordings` in the browser, else by asking the kernel
  const chosen = (p, choice) => choice?.[p.name] ?? p.default ?? p.options[0].value;
  const codeOf = (choice) => wanted.map((p) => chosen(p, choice)).join("/");
  const controls = wanted.map((p) => {
    if (p.kind === "moves") {
      const moves = movesPick(p, (v) => choose(p.name, v));
      picks.append(moves.el);
      return moves.set;
    }
    if (p.kind === "radio") {
      const boxes = p.options.map((o) => h("input", { type: "radio", name: uid + p.name, value: o.value, onchange: () => choose(p.name, o.value) }));
      picks.append(h("fieldset", {}, h("legend", {}, p.label), p.options.map((o, k) => h("label", { title: o.about }, boxes[k], h("span", {}, o.label)))));
      return (v) => boxes.forEach((b) => { b.checked = b.value === v; });
    }
    if (p.kind === "plan") return planSelect(p);
    const box = h("select", { onchange: () => choose(p.name, box.value) }, p.options.map((o) => h("option", { value: o.value }, o.about ? `${o.label}: ${o.about}` : o.label)));
    picks.append(h("label", { class: "pick" }, h("span", {}, p.label), box));
    return (v) => { box.value = v; };
  });
  picks.append(about);
  /** A plan: the ones that have a name, and the reader's own as one more option while it is on show. */
  function planSelect(p) {
    const mine = h("option", {}, "as you placed it"), box = h("select", { onchange: () => choose(p.name, box.value) }, p.options.map((o) => h("option", { value: o.value }, o.label)));
    picks.append(h("label", { class: "pick" }, h("span", {}, p.label), box));
    return (v) => {
      if (p.options.some((o) => o.value === v)) mine.remove(); else { mine.value = v; box.append(mine); }
      box.value = v;
      diagram?.reset();
    };
  }
  /** Whether the reader placed the events: once the first question is answered, what becomes of those is shown at once. */
  const placed = (choice) => !!planPick && !planPick.options.some((o) => o.value === chosen(planPick, choice));
  const setPicks = (choice) => controls.forEach((set, k) => set(chosen(wanted[k], choice)));
  /** The choice that the recording in the model answers. */
  const told = () => (Object.keys(model.get("shown") ?? {}).length ? model.get("shown") : model.get("choice"));
  const same = (one, other) => !!one && !!other && codeOf(one) === codeOf(other);

  function choose(name, v) {
    const choice = { ...(awaited ?? model.get("choice")), [name]: v }, local = model.get("recordings")?.[codeOf(choice)];
    const here = same(choice, told()) && !awaited && !running; // it came after it had been given up
    tell("");
    awaited = choice; sent.push(choice);
    model.set("trouble", ""); model.set("choice", choice);
    if (local) { model.set("answered", []); load(true); return send(); }
    if (here) { model.set("answered", []); load(); return send(); }
    root.setAttribute("aria-busy", "true"); picks.setAttribute("aria-busy", "true");
    say.textContent = "Running the case.";
    wait(running ? RUN_MS : PATIENCE_MS);
    send();
  }
  /** A channel that is closed may throw or be silent: either way the reader is told after the time-out. */
  function send() { try { model.save_changes(); } catch { /* the same as silence */ } }
  function wait(ms) {
    clearTimeout(patience);
    patience = setTimeout(() => {
      awaited = running = null;
      ready(); setPicks(showing); model.set("choice", showing); tell(NO_KERNEL);
      say.textContent = "";
    }, ms);
  }
  /** Whether what has come answers an older choice than the latest: then the stage waits on. */
  function stale() {
    const here = told();
    running = null;
    // Given up, and yet it comes: welcome if it is the last one, and the reader has not gone on with the old one.
    if (!awaited && sent.some((c) => same(c, here)) && (!same(sent.at(-1), here) || guesses.some((g) => g !== undefined))) return true;
    if (!awaited || same(awaited, here)) { awaited = null; sent = []; return false; }
    model.set("choice", awaited);
    if (picks.hasAttribute("aria-busy")) wait(PATIENCE_MS);
    return true;
  }
  function ready() {
    clearTimeout(patience);
    root.removeAttribute("aria-busy"); picks.removeAttribute("aria-busy");
  }
  function tell(text) { put(trouble, text); trouble.hidden = !text; }

  function load(mine) {
    if (!mine && stale()) return;
    ready();
    const choice = model.get("choice"), local = model.get("recordings")?.[codeOf(choice)], found = local ?? model.get("recording");
    showing = local ? choice : told();
    setPicks(showing);
    if (!found?.executors) return tell("Nothing has been recorded yet.");
    if (found.v > 1) return tell(`This recording is of version ${found.v}; this page reads version 1.`);
    tell(model.get("trouble") ?? "");
    if (!local) model.set("choice", showing);
    if (found === source && (model.get("predict") ?? asked) === asked) return jump();
    stop();
    const first = !rec;
    source = found; all = moments(found); rec = { ...found, axis: axisOf(found, all) };
    asked = model.get("predict") ?? [];
    const known = model.get("answered") ?? [];
    guesses = asked.map((q) => known.find((a) => a.ask === q.ask)?.guess);
    judged = asked.length && guesses.every((g) => g !== undefined) ? asked.map((q, k) => judge(rec, q, guesses[k])) : null;
    held = asked.length > 0 && !judged && !(answeredOnce && placed(showing));
    landing = Math.min(model.get("step") ?? rec.steps.length, rec.steps.length);
    model.set("step", null);
    question();
    build();
    go(held ? 0 : landing, first);
    point();
  }

  // -- the prediction: between pick and run
  function question() {
    quiz.replaceChildren(...asked.map((q, k) => h("fieldset", {}, h("legend", {}, q.ask), h("span", { class: "options" }, q.options.map((o) => h("label", {},
      h("input", { type: "radio", name: `${uid}q${k}`, value: o, checked: guesses[k] === o, onchange: () => { guesses[k] = o; hold(); } }), h("span", {}, o)))))));
    quiz.hidden = !asked.length || !(held || judged);
    hold();
  }
  function hold() {
    root.classList.toggle("held", held);
    run.disabled = held && guesses.includes(undefined);
    range.disabled = held; skip.hidden = !held;
    quiz.querySelectorAll("fieldset").forEach((f) => { f.disabled = !held; });
  }
  /** Ends the waiting: with guesses they are judged and sent to Python, without the outcome is just shown. */
  function reveal(given) {
    held = false; answeredOnce = true;
    judged = given && asked.map((q, k) => judge(rec, q, given[k]));
    hold(); build(); go(landing, true);
    point();
    if (!judged) { quiz.hidden = true; go(landing); return; }
    model.set("answered", judged.map((j, k) => ({ ask: asked[k].ask, guess: j.guess, answer: j.answer, ok: j.ok })));
    send();
    say.textContent = judged.map((j, k) => `${j.ok ? "Right" : "Wrong"}. ${asked[k].ask} ${j.sentence}`).join(" ");
  }
  function verdicts(ex) {
    const mine = (judged ?? []).map((j, k) => [j, asked[k]]).filter(([, q]) => q.about.startsWith(`${ex.name}/`));
    return mine.map(([j, q]) => h("li", { class: j.ok ? "right" : "wrong" },
      h("span", { class: "badge" }, j.ok ? "✓ right" : "✗ wrong"), h("span", { class: "why" }, h("span", { class: "q" }, `${q.ask} `), `${j.sentence} `,
        j.step ? h("button", { type: "button", class: "jump", "aria-label": `Go to step ${j.step}`, onclick: () => { stop(); go(j.step); } }, `See step ${j.step}`) : null)));
  }

  // -- the parts that stay while stepping
  function build() {
    const n = rec.executors.length;
    const seen = held ? all.map((ms) => [ms[0]]) : all; // held: nothing of the outcome, not even which lines there are
    layout = plan(rec, seen); rows = fields(rec, seen);
    aboutCase(n);
    const lab = (key, text, cls = "", rowsHigh = 1) => h("div", { class: `lab ${key.startsWith("other/job:") ? "two " : ""}${cls}`, "data-key": key, title: text.length > 14 ? text : null, style: rowsHigh > 1 ? `height:${rowsHigh * PITCH}px` : null }, h("b", { class: "ne" }), h("span", {}, whole(text)));
    const gap = (k) => (k === COUNTERS.length ? "gap" : "");
    const railLabels = () => layout.at.map((r) => lab(`set/${r.name}`, r.name, "", r.rows));
    const hide = { "aria-hidden": "true" };
    const big = h("p", { class: "stepno" }), asks = h("p", { class: "asks" });
    columns = rec.executors.map((ex) => {
      const svg = svgNode("rails");
      svg.innerHTML = "<g></g>"; svg.back = svg.firstChild; svg.chips = new Map();
      const c = { svg, tally: h("span", { class: "tally" }), big: h("p", { class: "big" }), note: h("p", { class: "note" }), ans: h("p", { class: "ans" }),
        marks: layout.at.map((r) => h("div", { class: "mark", "data-key": `set/${r.name}`, style: r.rows > 1 ? `height:${r.rows * PITCH}px` : null })), cells: rows.map((f) => h("div", { "data-key": f })) };
      const won = verdicts(ex);
      c.el = h("article", {},
        h("div", { class: "head", ...hide }, h("p", { class: "name" }, h("span", {}, h("code", {}, ex.title), kindSaid(ex) && ` ${kindSaid(ex)}`), c.tally), c.big, c.ans, c.note),
        h("div", { class: "said" }, won.length ? h("ul", { "aria-label": `Your predictions for ${ex.title}` }, won) : null),
        h("div", { class: "railbox", "data-ex": ex.title, ...hide }, h("div", { class: "own" }, railLabels()), h("div", { class: "fill" }, c.marks, svg)),
        h("div", { class: "ledger", "data-ex": ex.title, ...hide }, rows.map((f, k) => h("div", { class: `line ${gap(k)}` }, lab(f, label(f), "own"), c.cells[k]))));
      return c;
    });
    columns.side = { big, asks };
    const side = h("div", { class: "side", ...hide }, h("div", { class: "head" }, h("p", { class: "name" }, "step"), big, asks), h("div", { class: "said" }), h("div", { class: "railbox" }, h("div", {}, railLabels())),
      h("div", { class: "ledger" }, rows.map((f, k) => lab(f, label(f), gap(k)))));
    const stage = h("div", { class: "stage", "data-n": n, style: `--n:${n}` }, side, columns.map((c) => c.el));
    const charted = model.get("view") === "budgets" && !held && rec.cap != null && rec.steps.length > 0;
    body.chart = charted ? svgNode("budgets") : null;
    body.budgets = charted ? budgets(rec) : null;
    // What the reader has unfolded stays so when another pick brings another run.
    const unfolded = [...body.querySelectorAll("footer details[open] > summary")].map((s) => s.textContent);
    body.replaceChildren();
    diagram?.load(rec, all, held, !!planPick);
    body.append(stage, held ? h("p", { class: "waiting" }, "Answer first. Then the run shows every command, in order.") : traceTable(), foot());
    body.querySelectorAll("footer summary").forEach((s) => { s.parentNode.open = unfolded.includes(s.textContent); });
    if (body.chart) stage.before(chartBox());
  }
  function chartBox() {
    const swatch = (ex, e) => h("span", {}, h("i", { class: `swatch s${e}` }), `${ex.title}: ${body.budgets.columns[e].counter}`);
    return h("div", { class: "chartbox", "aria-hidden": "true" }, h("p", { class: "lines" }, rec.executors.map(swatch), h("span", {}, h("b", {}, "†"), " dead")), body.chart);
  }
  /** What is said where nothing is declared: it may show on the way, and may not at the end. */
  function undeclared() {
    if (!rec.steps.length) return "Nothing was sent.";
    const keys = [...rails(all).map((r) => `set/${r}`), ...fields(rec, all)], parts = (_, k) => keys.some((key) => differs(rec, all, key, k).includes(true));
    if (parts(null, all[0].length - 1)) return "They end differently, and no declared divergence says why.";
    return all[0].some(parts) ? "They differ on the way, and end with the same replies and keys." : "No declared divergence: both end with the same replies and keys.";
  }
  /** The lines of a changed file, the old above the new. */
  function changeLines(rec) {
    return Object.entries(rec.change ?? {}).map(([when, line]) => h("span", { class: "change" }, when, " ", line ? h("code", {}, line) : h("i", {}, "no such line")));
  }
  function aboutCase(n) {
    const div = model.get("divergences") ?? {}, d = [...(rec.differs ?? new Set([rec.case, ...rec.executors].flatMap((x) => x?.differs ?? [])))].sort((a, b) => a - b);
    const none = n > 1 && model.get("view") !== "workers" ? undeclared() : rec.case?.about ?? "";
    const told = [rec.about ?? (d.length ? null : none)].filter(Boolean).map((text) => h("span", {}, text));
    about.replaceChildren(...(held ? [] : [...told, ...changeLines(rec), ...d.map((k) => h("span", {}, h("b", {}, `≠ ${k}`), ` ${div[k] ?? ""}`))]));
  }
  function traceTable() {
    buttons = rec.steps.map((s, k) => h("button", { type: "button", tabindex: -1, onclick: () => { stop(); go(k + 1); } }, h("span", { class: "num" }, k + 1), s.word));
    const calls = all.flat().some((m) => m.frame?.phase === "call");
    return h("table", { class: "trace", role: "table" },
      h("caption", {}, calls ? "Who asked what, in order " : "What the server was told, in order ", h("span", { class: "legend" }, glyph("r"), "read ", all.flat().some((m) => m.frame?.phase === "host") ? [glyph("h"), "read in its own round trip "] : null, calls ? null : [glyph("d"), "guard "], glyph("w"), "write")),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "step"), rec.executors.map((e) => h("th", { scope: "col" }, e.title)))),
      h("tbody", {}, rec.steps.map((s, k) => h("tr", {}, h("th", { scope: "row" }, buttons[k]), all.map((ms, e) => cell(ms[k + 1].frame, rec.executors[e]))))));
  }
  function cell(f, ex) {
    if (!f) return h("td", { class: "none" });
    const name = h("span", { class: "ex" }, ex.title);
    if (f.phase === "guard") return h("td", { class: "guard" }, name, h("span", {}, "write guard"));
    const bad = f.reply?.error != null ? "bad" : "", cmd = f.command ? commandText(f, rec) : "", kind = f.phase === "call" && !f.writes?.length ? "r" : GLYPH[f.phase];
    if (own(f.reply, "unsupported")) return h("td", {}, name, glyph("u"), h("em", {}, "nothing is sent"), h("span", { class: "rep" }, `: ${replyText(f.reply, rec)}`));
    return h("td", {}, name, glyph(kind), h("span", { class: "quiet" }, `${f.phase}: `),
      cmd ? h("code", { title: short(f.command.join(" ")) }, whole(short(cmd))) : f.phase === "world" ? h("em", {}, "nothing is sent") : null,
      f.reply ? h("span", { class: `rep ${bad}` }, cmd ? " →\u00a0" : "answers ", whole(short(replyText(f.reply, rec))), f.phase === "host" ? ", own round trip" : "") : null);
  }

  // -- under the trace: the twin, every key, the code, the case, the link
  function foot() {
    body.twin = h("table", { class: "twin" }); body.every = h("table", { class: "twin every" });
    body.spent = body.chart ? h("table", { class: "twin" }) : null;
    const out = h("output", { class: "code" });
    const link = h("button", { type: "button", title: "Copies a code for this case and this step. To come back, paste it into emqlab_widgets.open(…).", onclick: () => copyCode(`${rec.code}@${i}`, out) }, "Link to this");
    return h("footer", {}, h("details", {}, h("summary", {}, "The same as a table"), h("div", { class: "scroll" }, body.spent, body.twin)),
      h("details", {}, h("summary", {}, "Every key"), h("div", { class: "scroll" }, body.every)), sources(), theCase(), link, out);
  }
  async function copyCode(text, out) {
    const code = h("span", {}, text);
    out.replaceChildren(await copied(text) ? "Copied: " : "Copy this: ", code, h("span", { class: "quiet" }, "\u2002open(\"…\") of emqlab_widgets brings it back"));
  }
  function sources() {
    const src = model.get("sources") ?? {}, shown = rec.executors.filter((e) => src[e.name]);
    if (!shown.length) return null;
    return h("details", { class: "src", ontoggle: () => { files(); follow(); } }, h("summary", {}, "Show what ran"), h("div", { class: "pair" }, shown.map((e) => {
      const out = h("output", { class: "took" }), name = h("code"), pre = h("pre", { tabindex: 0 });
      const link = h("button", { type: "button", title: "Copies a code that opens this file at the line of this step.", onclick: () => copyCode(`${rec.code}@${i}:${e.name}`, out) }, "Link to this line");
      const fig = h("figure", { "data-ex": e.name }, h("figcaption", {}, name, link, out), pre);
      fig.files = [src[e.name]].flat();
      const made = new Map(); // a file's lines are made once: a run may go back and forth between files
      fig.show = (file) => {
        if (fig.file === file) return;
        fig.file = file; name.textContent = file.name; pre.setAttribute("aria-label", file.name); pre.scrollTop = 0;
        if (!made.has(file)) made.set(file, file.text.replace(/\n$/, "").split("\n").map((t, k) => h("span", { class: "ln", "data-ex": e.name, "data-ln": k + 1 }, `${t}\n`)));
        pre.replaceChildren(...made.get(file));
      };
      return fig;
    })));
  }
  /** In each figure the file of this step, or of the last one that ran a file; before the first, the file that will run. */
  function files() {
    // Folded, nobody reads them, and hundreds of lines cost half of a step.
    root.querySelectorAll(".src[open] figure").forEach((fig) => {
      const ms = all[rec.executors.findIndex((x) => x.name === fig.dataset.ex)], of = (m) => fig.files.find((f) => f.name === fileOf(m.frame));
      fig.show(fig.files.length === 1 ? fig.files[0] : ms.slice(0, i + 1).map(of).findLast(Boolean) ?? ms.map(of).find(Boolean) ?? fig.files[0]);
      fig.querySelectorAll(".ln").forEach((n) => n.classList.toggle("here", ms[i].frame?.line === +n.dataset.ln));
    });
  }
  /** What a code with an executor asked for: the file unfolded, its figure in sight. */
  function point() {
    const fig = [...root.querySelectorAll(".src figure")].find((f) => f.dataset.ex === model.get("ran"));
    if (held || !fig) return;
    model.set("ran", "");
    fig.closest("details").open = true;
    root.querySelectorAll("figure").forEach((f) => f.classList.toggle("asked", f === fig));
    fig.scrollIntoView({ block: "nearest" });
  }
  /** The line of the current step, brought into view inside its own box: the page does not move. */
  function follow() {
    root.querySelectorAll(".src[open] figure").forEach((fig) => {
      const pre = fig.querySelector("pre"), ln = fig.querySelector(".ln.here");
      if (ln) pre.scrollTop = ln.offsetTop - pre.offsetTop - pre.clientHeight / 2 + 9;
    });
  }
  function theCase() {
    if (!rec.case) return null;
    const base = held ? { ...rec.case, differs: undefined } : rec.case;
    const form = (e) => ({ ...base, ...(e.when && { when: e.when }), ...(e.differs && { differs: e.differs.length ? e.differs : undefined }) });
    const forms = new Map((held ? rec.executors.slice(0, 1) : rec.executors).map((e) => [caseText(held ? base : form(e)), e]).reverse());
    const several = forms.size > 1 ? h("p", { class: "hint" }, "The columns do not make the same calls, so there is a form for each.") : null;
    return h("details", {}, h("summary", {}, "The case"), h("p", { class: "hint" }, "Save it and run it: ", h("code", {}, "emqlab run case.json")), several, [...forms].reverse().map(([text, e]) => {
      const pre = h("pre", { tabindex: 0 }, text), out = h("output", { class: "took" }), whose = forms.size > 1 ? ` of ${e.title}` : "";
      const copy = h("button", { type: "button", "aria-label": `Copy the case${whose}`, onclick: async () => {
        const done = await copied(text);
        if (!done) getSelection().selectAllChildren(pre);
        put(out, done ? "Copied" : "It is selected: copy it with the keyboard or the menu.");
      } }, "Copy");
      // Until the questions are answered the case lacks what it differs by: it would not run as it stands.
      return h("div", { class: "form" }, held ? null : h("p", { class: "hint" }, whose ? h("code", {}, e.title) : null, copy, out), pre);
    }));
  }

  // -- one moment
  function go(to, silent) {
    i = held ? 0 : Math.max(0, Math.min(to, rec.steps.length));
    if (i === rec.steps.length) stop();
    range.max = rec.steps.length; range.value = i;
    const step = rec.steps[i - 1], word = i ? `Step ${i} of ${rec.steps.length}: ${step.word}` : "Before the call", asks = i ? step.word : "before the call";
    range.setAttribute("aria-valuetext", word);
    count.replaceChildren(h("span", { class: "ask" }, asks), held ? "" : `${i} / ${rec.steps.length}`);
    back.disabled = i === 0; next.disabled = held || i === rec.steps.length;
    put(columns.side.big, String(i || "–")); put(columns.side.asks, asks);
    const notes = columns.map((c, e) => fill(c, e)).filter(Boolean);
    mark();
    if (!held) buttons.forEach((b, k) => {
      const tr = b.closest("tr");
      b.tabIndex = k === Math.max(0, i - 1) ? 0 : -1;
      tr.className = k === i - 1 ? "here" : k >= i ? "later" : "";
      k === i - 1 ? b.setAttribute("aria-current", "step") : b.removeAttribute("aria-current");
    });
    files();
    follow();
    twinTable(word); everyTable(word);
    draw();
    if (!silent && (!timer || i === rec.steps.length)) say.textContent = held ? "" : `${word}. ${notes.join(" ")}`;
  }
  /** One column at this step; answers its spoken sentence. */
  function fill(c, e) {
    const m = all[e][i], v = verdict(rec, all[e], i), frame = m.frame, note = held ? "Nothing has been sent." : noteAt(rec, all[e], i);
    put(c.note, note); c.note.classList.toggle("idle", !frame);
    c.big.replaceChildren(...(!v.text.includes(" → ") ? [v.text] : [h("span", { class: "from" }, `${v.was} → `), h("b", {}, v.is)]));
    c.ans.replaceChildren(v.stamp ? h("span", { class: "stamp" }, v.stamp) : own(v.said, "unsupported") ? "nothing is sent: " : v.said ? "answers " : "",
      v.said ? h("code", {}, short(replyText(v.said, rec))) : frame?.phase === "world" ? "nothing is sent" : i ? "no answer yet" : "");
    c.tally.replaceChildren(...(!held && all[e].some((x) => x.counts[0]) ? [glyph("r"), `${m.counts[0]} `, glyph("w"), String(m.counts[1])] : []));
    const touched = (slot) => (hit(slot, new Set(frame?.writes)) ? "lit w" : hit(slot, new Set(frame?.reads)) ? "lit r" : "");
    rows.forEach((f, k) => {
      const l = line(rec, f, m), is = l.deleted ? "–" : show(l.is, f, rec, m), was = `${show(l.was, f, rec, m)} → `;
      c.cells[k].className = `cell t-${l.kind} ${touched(slotOf(f))}`;
      c.cells[k].replaceChildren(glyph(l.kind), h("span", { class: "val", title: is.length > 16 ? short(is) : null }, l.changed ? h("span", { class: "from" }, short(was)) : "", h("b", {}, short(is))),
        l.delta ? h("span", { class: "delta" }, l.delta) : "", h("span", { class: "word" }, l.word));
    });
    c.marks.forEach((mk, k) => { mk.className = `mark ${touched(layout.names[k])}`; });
    return frame && `${rec.executors[e].title}: ${note}`;
  }
  /** The marker pen over the odd ones out, and the sign beside the label. */
  function mark() {
    for (const key of [...layout.names.map((r) => `set/${r}`), ...rows]) {
      const odd = differs(rec, all, key, i), own = (x) => x.dataset.key === key;
      columns.forEach((c, e) => (c.marks.find(own) ?? c.cells.find(own)).classList.toggle("differs", odd[e]));
      [...root.querySelectorAll(".lab")].filter(own).forEach((n) => put(n.firstChild, odd.includes(true) ? "≠" : ""));
    }
  }
  function twinTable(word) {
    const th = (t, scope) => h("th", { scope }, t);
    const says = (l, f, m) => `${l.changed ? `${show(l.was, f, rec, m)} → ` : ""}${l.deleted ? "" : `${show(l.is, f, rec, m)}, `}${l.word}`;
    body.twin.replaceChildren(h("caption", {}, `${model.get("title")}. ${word}.`),
      h("thead", {}, h("tr", {}, th("", "col"), rec.executors.map((e) => th(e.title, "col")))),
      h("tbody", {}, h("tr", {}, th("where the job is", "row"), all.map((ms) => h("td", {}, [verdict(rec, ms, i)].map((v) => v.text + (v.stamp ? `, ${v.stamp}` : ""))))),
        rows.map((f) => h("tr", {}, th(label(f), "row"), all.map((ms) => h("td", {}, short(says(line(rec, f, ms[i]), f, ms[i]))))))));
  }
  function everyTable(word) {
    const found = every(rec, all, i), th = (t, scope, odd) => h("th", { scope }, odd ? h("b", {}, "≠ ") : null, t);
    body.every.replaceChildren(h("caption", {}, `Every key, before and now. ${word}.`),
      h("thead", {}, h("tr", {}, th("key", "col"), rec.executors.map((e) => th(e.title, "col")))),
      h("tbody", {}, found.map((k) => h("tr", {}, th(k.name, "row", k.odd.includes(true)), k.cells.map((text, e) => h("td", { class: k.odd[e] ? "differs" : null }, text))))));
    if (!body.spent || body.spent.firstChild) return;
    body.spent.replaceChildren(h("caption", {}, "The budget after each move."),
      h("thead", {}, h("tr", {}, th("move", "col"), rec.executors.map((e) => th(e.title, "col")))),
      h("tbody", {}, body.budgets.moves.map(([name], k) => h("tr", {}, th(`${k + 1} ${name}`, "row"), body.budgets.columns.map((c) => h("td", {}, spentAt(body.budgets, c, k + 1)))))));
  }
  /** Every place is read before anything is drawn, and every fit before anything is tightened: one layout each. */
  function draw() {
    const n = columns.length, left = (el) => el.getBoundingClientRect().left;
    root.classList.toggle("narrow", root.clientWidth < (n === 1 ? 560 : 116 + n * 235));
    const edge = left(columns[0].svg.parentElement), widths = columns.map((c) => c.svg.parentElement.clientWidth);
    const chart = body.chart?.parentElement, charted = chart?.clientWidth, from = charted && Math.max(112, edge - left(chart));
    const along = diagram && edge - left(diagram.el), cells = columns.flatMap((c) => c.cells);
    diagram?.draw(i, along); // first, for it reads its own width
    if (charted) drawBudgets(body.chart, rec, body.budgets, i, from, charted, (to) => { stop(); go(to); });
    columns.forEach((c, e) => {
      if (widths[e]) drawRails(c.svg, rec, layout, all[e][i], widths[e], ofCalls(rec) ? all[e][Math.max(0, i - 1)].clock : rec.now_ms);
    });
    cells.forEach((x) => x.classList.remove("tight")); // where the touch word does not fit, its glyph stands alone
    const tight = cells.filter((x) => x.scrollWidth > x.clientWidth || x.children[1].scrollWidth > x.children[1].clientWidth);
    diagram?.seat();
    tight.forEach((x) => x.classList.add("tight"));
  }
  function play() {
    if (i === rec.steps.length) go(0, true);
    if (still.matches) return go(rec.steps.length);
    put(run, "Pause");
    timer = setInterval(() => go(i + 1), 900);
  }
  function stop() { clearInterval(timer); timer = null; put(run, "Run"); }

  // -- keys, theme, size, and what Python says
  root.addEventListener("keydown", (e) => {
    if (e.key === "Tab" || e.key === "Escape") return;
    e.stopPropagation();
    if (!rec || e.target.matches("select, input, pre") || e.ctrlKey || e.metaKey || e.altKey) return;
    const inTrace = e.target.closest(".trace");
    const to = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: rec.steps.length, ...(inTrace && { ArrowUp: i - 1, ArrowDown: i + 1 }) }[e.key];
    if (to === undefined) return;
    e.preventDefault(); stop(); go(to);
    if (inTrace) buttons[Math.max(0, i - 1)].focus();
  });
  for (const kind of ["keyup", "keypress"]) root.addEventListener(kind, (e) => e.stopPropagation());
  const theme = () => root.toggleAttribute("data-dark", isDark(el));
  const watch = new MutationObserver(() => { theme(); requestAnimationFrame(theme); }); // a host may set its mark before its colours
  for (const n of [document.documentElement, document.body]) watch.observe(n, { attributes: true });
  night.addEventListener("change", theme);
  let width = 0;
  const size = new ResizeObserver(() => {
    if (root.clientWidth === width || !rec) return;
    width = root.clientWidth;
    theme();
    root.classList.add("snap"); draw(); requestAnimationFrame(() => root.classList.remove("snap"));
  });
  size.observe(root);

  // Several traits come in one message: they are taken together, once.
  const soon = (what) => {
    if (!queued) queueMicrotask(() => { const all = queued; queued = ""; if (all.includes("load")) load(); else jump(); });
    queued += what;
  };
  const jump = () => {
    const step = model.get("step");
    if (!rec) return;
    model.set("step", null);
    if (held) landing = step ?? landing;
    else if (step != null) { stop(); go(step); }
    point();
  };
  const heard = {
    "change:recording": () => soon("load"), "change:shown": () => soon("load"), "change:predict": () => soon("load"),
    "change:step": () => soon("step"), "change:ran": () => soon("step"),
    "change:trouble": () => {
      const failed = running;
      if (!model.get("trouble")) return;
      running = null;
      if (awaited && failed && !same(failed, awaited)) { // an older choice
        model.set("choice", awaited);
        return same(awaited, told()) ? load() : wait(PATIENCE_MS);
      }
      awaited = null; sent = [];
      ready(); setPicks(showing); tell(model.get("trouble"));
    },
    "msg:custom": (m) => { // the kernel is there; it may take its time
      if (!m?.heard) return;
      running = m.heard === true ? awaited : m.heard;
      if (awaited) wait(RUN_MS);
    },
  };
  for (const [name, act] of Object.entries(heard)) model.on?.(name, act);
  theme(); tell(model.get("trouble") ?? ""); load();
  return () => {
    stop(); diagram?.stop(); clearTimeout(patience); watch.disconnect(); size.disconnect(); night.removeEventListener("change", theme);
    for (const [name, act] of Object.entries(heard)) model.off?.(name, act);
  };
}

export default { render };
