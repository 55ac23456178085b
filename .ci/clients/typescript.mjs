// Drives the seven tools of a server through an official TypeScript SDK and
// compares each answer, whole, with what it must be.
//
//   node typescript.mjs SDK REVISION stdio COMMAND
//   node typescript.mjs SDK REVISION http URL
//
// SDK is "sdk" (version 1) or "client" (version 2); REVISION is that of the
// protocol, and must be what the two sides agree on. The command gets its store
// from CONVMEM_DIR; CONVMEM_TOKEN is the bearer token, "" for none. Nobody else
// may write to the store meanwhile. The first difference ends the run with exit
// code 1.
import assert from 'node:assert/strict'

const [sdk, revision, transportName, target] = process.argv.slice(2)
const session = `TypeScript ${sdk} ${revision} ${transportName} ${Date.now()}`
const mebibyte = 1 << 20
const missing = { code: 'NOT_FOUND', field: 'message_id' }
let calls = 0

// load returns the classes of one SDK under the same names.
async function load() {
  if (sdk === 'sdk') {
    return {
      ...(await import('@modelcontextprotocol/sdk/client/index.js')),
      ...(await import('@modelcontextprotocol/sdk/client/stdio.js')),
      ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
    }
  }
  assert.equal(sdk, 'client')
  return {
    ...(await import('@modelcontextprotocol/client')),
    ...(await import('@modelcontextprotocol/client/stdio')),
  }
}

function makeTransport({ StdioClientTransport, StreamableHTTPClientTransport }) {
  if (transportName === 'stdio') {
    const env = { CONVMEM_DIR: process.env.CONVMEM_DIR }
    return new StdioClientTransport({ command: target, env, stderr: 'ignore' })
  }
  assert.equal(transportName, 'http')
  const token = process.env.CONVMEM_TOKEN
  const headers = token ? { Authorization: `Bearer ${token}` } : {}
  return new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers } })
}

// options make a client speak this revision. Version 1 has no choice; version 2
// offers an old one first in its list and is pinned to a new one.
function options() {
  if (sdk === 'sdk') return {}
  if (revision < '2026') return { supportedProtocolVersions: [revision] }
  return { versionNegotiation: { mode: { pin: revision } } }
}

const classes = await load()
const transport = makeTransport(classes)
const client = new classes.Client({ name: 'convmem-ci', version: '1.0.0' }, options())

// call returns the parsed document of a result, which must be one text, must be
// an error or not as expected, and must have no white space around its parts.
async function call(tool, args, isError = false) {
  calls++
  const result = await client.callTool({ name: tool, arguments: args })
  assert.equal(result.isError ?? false, isError, `${tool}: ${JSON.stringify(result).slice(0, 300)}`)
  assert.deepEqual(Object.keys(result.content[0]), ['type', 'text'])
  assert.equal(result.content.length, 1)
  assert.equal(result.content[0].type, 'text')
  assert.equal(result.structuredContent, undefined)
  return JSON.parse(result.content[0].text)
}

const write = (content, more = {}) => call('write_message', { session_id: session, role: 'user', content, ...more })

const history = (args = {}) => call('read_messages', { session_id: session, ...args })

// fails makes a call that must end in this error. The words are free, but for
// the field that they begin with.
async function fails(tool, args, { code, ...rest }) {
  const document = await call(tool, args, true)
  const { message, ...error } = document.error
  assert.deepEqual({ ...document, error }, { status: 'ERROR', error: { code, ...rest } })
  assert.ok(message.length > 0 && message.length < 1000)
  if (rest.field) assert.ok(message.startsWith(`${rest.field}: `), message)
}

// timeOf is the time in a ULID.
function timeOf(id) {
  assert.match(id, /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
  return [...id.slice(0, 10)].reduce((time, digit) => time * 32 + '0123456789ABCDEFGHJKMNPQRSTVWXYZ'.indexOf(digit), 0)
}

// expected is a new message as the server must show it, under the id that the
// server gave it.
function expected({ message_id }, content, metadata = {}) {
  return {
    message_id,
    session_id: session,
    timestamp: timeOf(message_id),
    role: 'user',
    content,
    revision: 1,
    updated_at: timeOf(message_id),
    metadata: {
      tags: [],
      memory_tier: 'short',
      memory_kind: 'conversation',
      importance: 50,
      relations: [],
      source_message_ids: [],
      ...metadata,
    },
  }
}

// connects listens for the revision that the SDK tells its transport, for version
// 1 tells nobody else.
async function connects() {
  let agreed
  const tell = transport.setProtocolVersion?.bind(transport)
  transport.setProtocolVersion = (version) => {
    agreed = version
    tell?.(version)
  }
  await client.connect(transport)
  assert.equal(agreed, revision)
  assert.equal(client.getServerVersion().name, 'convmem')
  assert.deepEqual(client.getServerCapabilities(), { tools: {} })
  assert.match(client.getInstructions(), /search_messages/)
}

async function listsTheTools() {
  const { tools, nextCursor } = await client.listTools()
  assert.equal(nextCursor, undefined)
  const hints = tools.map(({ name, annotations: a, inputSchema }) => {
    assert.equal(inputSchema.type, 'object')
    return [name, a.readOnlyHint, a.destructiveHint, a.idempotentHint, a.openWorldHint]
  })
  assert.deepEqual(hints, [
    ['delete_message', false, true, true, false],
    ['get_system_health', true, false, true, false],
    ['read_messages', true, false, true, false],
    ['rebuild_index', false, true, true, false],
    ['search_messages', true, false, true, false],
    ['update_message', false, true, true, false],
    ['write_message', false, false, false, false],
  ])
}

// writesOnce returns a message that was written with a key, and is the same when
// it is written again.
async function writesOnce() {
  const content = '東京タワーの高さは333メートルです。'
  const metadata = { tags: ['旅行', 'tower'], memory_kind: 'semantic', importance: 0, summary: 'height', occurred_at: 1720843200000 }
  const request = { metadata_json: JSON.stringify(metadata), idempotency_key: 'once' }
  const first = await write(content, request)
  assert.deepEqual(first, { status: 'OK', message: expected(first.message, content, metadata) })
  assert.deepEqual(await write(content, request), { status: 'OK', replayed: true, message: first.message })
  const another = { session_id: session, role: 'user', content: 'another', ...request }
  await fails('write_message', another, { code: 'CONFLICT', field: 'idempotency_key' })
  return first.message
}

// updates returns the message as it is after the change.
async function updates(message) {
  const change = { message_id: message.message_id, expected_revision: 1, metadata_json: { tags: [], importance: 90 } }
  const updated = await call('update_message', change)
  const { updated_at } = updated.message
  assert.ok(updated_at >= message.timestamp)
  const metadata = { ...message.metadata, tags: [], importance: 90 }
  assert.deepEqual(updated, { status: 'OK', changed: true, message: { ...message, revision: 2, updated_at, metadata } })
  await fails('update_message', change, { code: 'CONFLICT', field: 'expected_revision', current_revision: 2 })
  const again = await call('update_message', { ...change, expected_revision: 2 })
  assert.deepEqual(again, { status: 'OK', changed: false, message: updated.message })
  return updated.message
}

// writesMany returns messages in the order in which they were sent. Over stdio
// nothing waits for an answer: calls of one connection act as they arrive.
async function writesMany(count) {
  const answers = []
  for (let i = 0; i < count; i++) {
    const answer = write(`message ${i}`)
    if (transportName === 'http') await answer
    answers.push(answer)
  }
  const messages = (await Promise.all(answers)).map(({ message }) => message)
  messages.forEach((message, i) => assert.deepEqual(message, expected(message, `message ${i}`)))
  return messages
}

async function pagesThroughHistory(messages) {
  const read = []
  let cursor
  do {
    const page = await history({ limit: 3, ...(cursor && { cursor }) })
    assert.equal(page.history.length, Math.min(3, messages.length - read.length))
    read.push(...page.history)
    cursor = page.nextCursor
  } while (cursor)
  assert.deepEqual(read, messages)
  const newest = await history({ limit: 2, order: 'desc' })
  assert.deepEqual(newest.history, messages.slice(-2).reverse())
  assert.equal(typeof newest.nextCursor, 'string')
  assert.deepEqual(await call('read_messages', { session_id: `${session} of nobody` }), { history: [] })
}

async function readsContext(first, messages, count) {
  const relations = [{ type: 'derived_from', message_id: first.message_id }]
  const { message } = await write('a summary', { metadata_json: JSON.stringify({ relations }) })
  assert.deepEqual(message, expected(message, 'a summary', { relations }))
  const context = (id, args) => call('read_messages', { view: 'context', message_id: id, ...args })
  assert.deepEqual(await context(message.message_id, { before: 2 }), {
    truncated: false,
    session: { session_id: session, message_count: count + 1 },
    message,
    chronological_context: { before: messages.slice(-2), after: [] },
    relations: [{ type: 'derived_from', direction: 'outgoing', depth: 1, message: first }],
  })
  const incoming = await context(first.message_id, { relation_types_json: ['derived_from'] })
  assert.deepEqual(incoming.relations, [{ type: 'derived_from', direction: 'incoming', depth: 1, message }])
  assert.deepEqual(incoming.chronological_context, { before: [], after: [messages[1]] })
  return message
}

async function pagesThroughSessions(summary, count) {
  const other = await write('又は別の話', { session_id: `${session} II`, role: 'assistant' })
  const found = []
  let cursor
  do {
    const page = await call('read_messages', { view: 'sessions', limit: 1, ...(cursor && { cursor }) })
    assert.ok(page.sessions.length <= 1)
    found.push(...page.sessions.filter(({ session_id }) => session_id.startsWith(session)))
    cursor = page.nextCursor
  } while (cursor)
  const kinds = { conversation: 0, episode: 0, semantic: 0, procedure: 0, preference: 0, summary: 0 }
  const at = (first, last) => ({ started_at: first.timestamp, last_message_at: last.timestamp })
  assert.deepEqual(found, [
    { session_id: `${session} II`, message_count: 1, kind_counts: { ...kinds, conversation: 1 },
      representative_summary: '又は別の話', ...at(other.message, other.message) },
    { session_id: session, message_count: count, kind_counts: { ...kinds, conversation: count - 1, semantic: 1 },
      representative_summary: 'height', ...at(summary.first, summary.last) },
  ])
}

async function searches(first, neighbour) {
  const search = (query, args) => call('search_messages', { query, session_id: session, ...args })
  const { results } = await search('タワーの高さ', { context_size: 1 })
  assert.equal(results.length, 1)
  const { score, score_breakdown: parts, ...hit } = results[0]
  assert.deepEqual(hit, {
    ...first,
    matched_fields: ['content'],
    relation_count: 1,
    context_preview: { before: [], after: [neighbour] },
  })
  assert.deepEqual(Object.keys(parts), ['content', 'summary', 'tags'])
  assert.equal(score, parts.content + parts.summary + parts.tags)
  assert.ok(parts.content > 0 && parts.summary === 0 && parts.tags === 0)

  const semantic = await search('height', { filters_json: '{"kinds":["semantic"]}', min_importance: 90 })
  assert.deepEqual(semantic.results.map((r) => [r.message_id, r.matched_fields]), [[first.message_id, ['summary']]])
  assert.deepEqual(await search('height', { min_importance: 91 }), { results: [] })
  assert.deepEqual(await search('"AND ( C++ 🙂 *', { filters_json: { tags: ['no such tag'] } }), { results: [] })
}

async function saysWhatIsWrong() {
  const wrong = (field) => ({ code: 'VALIDATION_ERROR', field })
  const unknown = '00000000000000000000000000'
  await fails('write_message', { session_id: session, content: 'x' }, wrong('role'))
  await fails('write_message', { session_id: session, role: 'robot', content: 'x' }, wrong('role'))
  await fails('write_message', { session_id: session, role: 'user', content: '' }, wrong('content'))
  await fails('write_message', { session_id: session, role: 'user', content: 'x', contents: 'x' }, wrong('contents'))
  await fails('read_messages', { session_id: session, limit: 1.5 }, wrong('limit'))
  await fails('read_messages', { session_id: session, cursor: 'not one of ours' }, wrong('cursor'))
  await fails('search_messages', { query: 'x', filters_json: '{"kind":[]}' }, wrong('kind'))
  await fails('update_message', { message_id: unknown, content: 'x' }, missing)
  await fails('read_messages', { view: 'context', message_id: unknown }, missing)
}

// keepsLargeContents writes and reads the longest content, made of what takes
// more room on the wire than in the store, and returns how many it left.
async function keepsLargeContents() {
  const fillings = ['漢', '"', '<', '\u0001', '🙂']
  for (const filling of fillings) {
    const size = Buffer.byteLength(filling)
    const content = 'x'.repeat(mebibyte % size) + filling.repeat(Math.floor(mebibyte / size))
    assert.equal(Buffer.byteLength(content), mebibyte)
    const written = await write(content)
    assert.ok(written.message.content === content, `${filling}: what was written is not what was sent`)
    const read = await history({ limit: 1, order: 'desc' })
    assert.equal(read.history[0].message_id, written.message.message_id)
    assert.ok(read.history[0].content === content, `${filling}: what is read is not what was written`)
    const larger = { session_id: session, role: 'user', content: content + 'x' }
    await fails('write_message', larger, { code: 'VALIDATION_ERROR', field: 'content' })
  }
  return fillings.length
}

// deletes removes the newest messages and the first one, to which the summary
// is related.
async function deletes(first, summary, large) {
  const id = first.message_id
  const remove = (message_id, more) => call('delete_message', { message_id, ...more })
  assert.deepEqual(await remove(id, { session_id: 'another' }), { status: 'NOT_FOUND' })
  assert.deepEqual(await remove(id, { session_id: session }), { status: 'OK' })
  assert.deepEqual(await remove(id), { status: 'NOT_FOUND' })
  await fails('read_messages', { view: 'context', message_id: id }, missing)
  const context = await call('read_messages', { view: 'context', message_id: summary.message_id })
  const gone = { type: 'derived_from', direction: 'outgoing', depth: 1, message_id: id, status: 'deleted' }
  assert.deepEqual(context.relations, [gone])
  assert.deepEqual(await call('search_messages', { query: 'タワーの高さ', session_id: session }), { results: [] })

  const newest = await history({ limit: large, order: 'desc', max_content_characters: 1 })
  for (const message of newest.history) {
    assert.equal(message.content_bytes, mebibyte)
    assert.equal(message.content_truncated, true)
    assert.deepEqual(await remove(message.message_id), { status: 'OK' })
  }
  assert.equal(newest.history.length, large)
}

async function rebuilds(large) {
  const before = await call('get_system_health', {})
  assert.equal(before.deleted_messages, large + 1)
  assert.ok(before.dead_bytes > large * mebibyte)
  const rebuilt = await call('rebuild_index', {})
  const { records_removed, bytes_before, bytes_after } = rebuilt
  assert.deepEqual(Object.keys(rebuilt), ['status', 'messages_indexed', 'records_removed', 'bytes_before', 'bytes_after'])
  assert.equal(rebuilt.status, 'OK')
  assert.equal(rebuilt.messages_indexed, before.active_messages)
  assert.ok(records_removed > large && bytes_before - bytes_after > large * mebibyte)
  return before
}

async function isHealthy(before) {
  const health = await call('get_system_health', {})
  assert.deepEqual(Object.keys(health), ['status', 'format_version', 'log_size', 'snapshot_size', 'active_messages',
    'deleted_messages', 'last_sequence', 'update_records', 'dead_bytes', 'memory_estimate', 'io', 'recovered_tail',
    'snapshot_valid', 'last_error', 'schema_version'])
  const { total_bytes, ...parts } = health.memory_estimate
  assert.equal(total_bytes, Object.values(parts).reduce((sum, part) => sum + part, 0))
  assert.deepEqual(Object.keys(health.io), ['write_bytes', 'write_calls', 'flush_calls', 'truncate_calls', 'replace_calls'])
  const { status, active_messages, deleted_messages, update_records, dead_bytes, snapshot_valid, last_error } = health
  assert.deepEqual({ status, active_messages, deleted_messages, update_records, dead_bytes, snapshot_valid, last_error },
    { status: 'OK', active_messages: before.active_messages, deleted_messages: 0, update_records: 0, dead_bytes: 0,
      snapshot_valid: true, last_error: '' })
  assert.ok(health.last_sequence >= before.last_sequence)
}

// leaves closes the connection. Over stdio the process of the server must end by
// itself then, before the SDK sends it signals.
async function leaves() {
  const child = transport._process
  await client.close()
  if (transportName !== 'stdio') return
  assert.deepEqual({ exitCode: child.exitCode, signalled: child.killed }, { exitCode: 0, signalled: false })
}

await connects()
await listsTheTools()
const first = await updates(await writesOnce())
const messages = [first, ...(await writesMany(20))]
await pagesThroughHistory(messages)
const summary = await readsContext(first, messages, messages.length)
await pagesThroughSessions({ first, last: summary }, messages.length + 1)
await searches(first, messages[1])
await saysWhatIsWrong()
const large = await keepsLargeContents()
await deletes(first, summary, large)
const before = await rebuilds(large)
await isHealthy(before)
assert.deepEqual((await history()).history, [...messages.slice(1), summary])
await leaves()
console.log(`${calls} calls answered as expected`)
