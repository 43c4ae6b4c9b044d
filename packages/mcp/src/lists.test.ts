import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { ConfigError, createAgent, type Middleware, tool } from '@meanwhile/core'
import { expectLinear } from '@meanwhile/tests/growth'
import { InMemoryTransport, Server } from '@modelcontextprotocol/server'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { listed, listing, raw, trial } from '../test/in-process.ts'
import { ran, toolsOf } from '../test/runs.ts'
import { type McpDefinition, McpLimitError, type McpOptions, type McpToolInfo, mcp, mcpOf } from './index.ts'

test('a tool has its server’s name for it, with other characters and at most 64 (MC7)', async () => {
  const long = 'x'.repeat(80)
  const { names } = await toolsOf({ servers: { a: listing([listed('read/file'), listed(long)]) } })
  expect(names).toEqual(['read_file', expect.stringMatching(/^x{55}_[0-9a-f]{8}$/)])
})

test('tools whose names clash, also with the agent’s own, have the name of their server before theirs (MC7)', async () => {
  const read = tool({ name: 'read', description: 'Own.', input: z.object({}), execute: () => '' })
  const servers = { a: listing([listed('read'), listed('list')]), b: listing([listed('list'), listed('find')]) }
  const { names } = await toolsOf({ servers }, { tools: [read] })
  expect(names).toEqual(['read', 'a_read', 'a_list', 'b_list', 'find'])
  expect((await toolsOf({ servers, prefix: true })).names).toEqual(['a_read', 'a_list', 'b_list', 'b_find'])
})

test('with prefix: false a clash ends the run with an error that names the server and the tool (MC7)', async () => {
  const { error } = await ran({ servers: { a: listing([listed('x.y'), listed('x y')]) }, prefix: false }, [say('hi')])
  expect(error).toBeInstanceOf(ConfigError)
  expect(error).toMatchObject({ message: 'prefix: a: two tools would have the name x_y' })
})

test('a bad tool is left out with a warning that names its server, and costs no other tool (MC11, MC22)', async () => {
  const deep = JSON.parse(`${'{"not":'.repeat(70)}{}${'}'.repeat(70)}`)
  const { names, warnings } = await toolsOf({
    servers: {
      a: listing([
        listed('good'),
        listed(''),
        null,
        { name: 'no-schema', inputSchema: [] },
        { name: 'text', inputSchema: { type: 'string' } },
        listed('deep', { inputSchema: { type: 'object', properties: { x: deep } } }),
        listed('large', { inputSchema: { type: 'object', description: 'x'.repeat(300_000) } }),
        listed('remote', { inputSchema: { type: 'object', properties: { x: { $ref: 'https://a.test/s' } } } }),
        listed('task', { execution: { taskSupport: 'required' } }),
      ]),
    },
  })
  expect(names).toEqual(['good'])
  expect(warnings.map(({ code, message }) => [code, message])).toEqual([
    ['mcp-tool', 'a: its tool "" is left out: it has no name'],
    ['mcp-tool', 'a: its tool without a name is left out: it has no name'],
    ['mcp-tool', 'a: its tool "no-schema" is left out: its input is not the schema of an object'],
    ['mcp-tool', 'a: its tool "text" is left out: its input is not the schema of an object'],
    ['mcp-tool', 'a: its tool "deep" is left out: its schema is nested deeper than 64 levels'],
    ['mcp-tool', 'a: its tool "large" is left out: its schema has 300034 bytes, more than 262144'],
    ['mcp-tool', 'a: its tool "remote" is left out: its schema refers to another document: https://a.test/s'],
    ['mcp-tool', 'a: its tool "task" is left out: it can only be called as a task'],
  ])
})

test.each([
  ['escapes', '\u0001\ud800'.repeat(500)],
  ['short texts', ['"', '\\', '€', '']],
  ['short members', Object.fromEntries(Array.from({ length: 100 }, (_, index) => [String.fromCharCode(index), index]))],
  ['numbers', [-1.234567890123456e-300, 1e21, 0, 5, -7]],
  ['small values', [true, false, null, [], {}, [[]], [{}]]],
])('the limit of a schema counts its bytes, with %s to the last one (MC11)', async (_, value) => {
  const inputSchema = { type: 'object', default: value }
  const servers = { a: listing([listed('t', { inputSchema })]) }
  const schemaBytes = Buffer.byteLength(JSON.stringify(inputSchema))
  expect((await toolsOf({ servers, limits: { schemaBytes } })).names).toEqual(['t'])
  expect((await toolsOf({ servers, limits: { schemaBytes: schemaBytes - 1 } })).names).toEqual([])
})

test('a server with more tools than the limit, or with pages without an end, ends the run with an error that names it (MC11)', async () => {
  const many = Array.from({ length: 257 }, (_, index) => listed(`t${index}`))
  const { error } = await ran({ servers: { a: listing(many) } }, [say('hi')])
  expect(error).toBeInstanceOf(McpLimitError)
  expect(error).toMatchObject({ message: 'a: it has more than 256 tools' })
  let page = 0
  const endless = raw(({ method }) => (method === 'tools/list' ? { tools: [], nextCursor: String(page++) } : undefined))
  expect((await ran({ servers: { a: endless } }, [say('hi')])).error).toMatchObject({
    message: 'a: the pages of its list of tools do not end',
  })
})

test('a regular expression of a server is shown to the model and never run (MC11)', async () => {
  const schema = {
    type: 'object',
    properties: { pattern: { type: 'string', pattern: '^(a+)+$' } },
    patternProperties: { '^(b+)+$': { type: 'number' } },
    additionalProperties: false,
    required: ['pattern'],
  }
  const server = listing([listed('find', { inputSchema: schema })], () => ({
    content: [{ type: 'text', text: 'found' }],
  }))
  const hostile = { pattern: `${'a'.repeat(40)}!`, [`${'b'.repeat(40)}!`]: 1 }
  const { read, tools } = await ran({ servers: { a: server } }, [call('find', hostile), call('find', {})])
  expect(read).toEqual(['found', expect.stringContaining('invalid input for find')])
  expect(tools[0]?.inputSchema).toEqual(schema)
})

test('members that only a regular expression inside a schema allows are accepted (MC11)', async () => {
  const schema = {
    type: 'object',
    allOf: [{ patternProperties: { '^x-': { type: 'number' } } }],
    unevaluatedProperties: false,
  }
  const server = listing([listed('find', { inputSchema: schema })], () => ({
    content: [{ type: 'text', text: 'found' }],
  }))
  expect((await ran({ servers: { a: server } }, [call('find', { 'x-one': 1 })])).read).toEqual(['found'])
})

test('only tools that are called have their schemas compiled: a long list costs time in proportion to its length (MC11)', async () => {
  await expectLinear(500, async (size) => {
    const tools = Array.from({ length: size }, (_, index) => listed(`t${index}`))
    await using servers = mcp({ servers: { a: listing(tools) }, limits: { tools: size } })
    await createAgent({ model: scriptedModel([respond(say('done'))]), middleware: [servers] }).run('Go')
  })
})

test('a server in this process may change what it has listed: the tools stay as they were, and what their calls may contain (MC8, MC11)', async () => {
  const inputSchema = { type: 'object' as const, properties: { words: { enum: ['a'] } } }
  const asked: unknown[] = []
  const connect = () => {
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    const server = new Server({ name: 'a', version: '1.0.0' }, { capabilities: { tools: { listChanged: true } } })
    server.setRequestHandler('tools/list', () => ({ tools: [{ name: 'find', inputSchema }] }))
    server.setRequestHandler('tools/call', ({ params }) => {
      asked.push(params.arguments)
      return { content: [] }
    })
    void server.connect(theirs)
    return ours
  }
  await using servers = mcp({ servers: { a: { connect } } })
  const toolsIn = async (...responses: Parameters<typeof scriptedModel>[0]) => {
    const model = scriptedModel(responses)
    await createAgent({ model, middleware: [servers] }).run('Go')
    return JSON.stringify(model.requests[0]?.tools)
  }
  const before = await toolsIn(respond(say('done')))
  // No call has compiled the schema yet.
  inputSchema.properties.words.enum.push('b')
  const calls = respond(call('find', { words: 'a' }), call('find', { words: 'b' }))
  expect(await toolsIn(calls, respond(say('done')))).toBe(before)
  expect(asked).toEqual([{ words: 'a' }])
})

test('a function that chooses tools cannot change them, nor can a reader of what is known of them (MC9, MC10)', async () => {
  const server = listing([listed('one', { description: 'One.', annotations: { readOnlyHint: true } })])
  const given: McpDefinition[] = []
  let info: McpToolInfo | undefined
  const look: Middleware = { name: 'look', beforeAgent: ({ tools: [one] }) => void (info = one && mcpOf(one)) }
  const options: McpOptions = { servers: { a: server }, include: (definition) => given.push(definition) > 0 }
  await ran(options, [say('hi')], { middleware: [look] })
  const [definition] = given
  const all: unknown[] = [definition, definition?.annotations, definition?.inputSchema, info, info?.annotations]
  expect(all.map((one) => Object.isFrozen(one))).toEqual([true, true, true, true, true])
  expect(info).toEqual({ server: 'a', name: 'one', annotations: { readOnlyHint: true }, hash: expect.any(String) })
})

test('names in include and exclude that no server has are a warning that lists the tools: a server may have removed one (MC9)', async () => {
  const servers = { a: listing([listed('read'), listed('write')]) }
  const { warnings } = await toolsOf({ servers, include: ['read', 'raed'], exclude: ['wirte'] })
  expect(warnings.map(({ code, message }) => [code, message])).toEqual([
    ['mcp-tool', 'include: no server has raed. They have: read, write'],
    ['mcp-tool', 'exclude: no server has wirte. They have: read, write'],
  ])
})

test('include and exclude choose tools by the server’s names (MC9)', async () => {
  const servers = { a: listing([listed('one'), listed('two'), listed('three')]) }
  expect((await toolsOf({ servers, include: ['one', 'two'], exclude: ['two'] })).names).toEqual(['one'])
  expect((await toolsOf({ servers, include: ({ name }) => name.startsWith('t') })).names).toEqual(['two', 'three'])
})

test('an effect or a pin for a tool that no server has is an error that lists the tools (MC9)', async () => {
  const { error } = await ran({ servers: { a: trial().server }, effects: { looup: 'read' } }, [say('hi')])
  expect(error).toMatchObject({
    name: 'ConfigError',
    message: 'effects: no server has looup. They have: lookup, write, put, count, pay, fail',
  })
})

const strange: readonly (readonly [string, object])[] = [
  ['has no type', { properties: { a: { type: 'string' } } }],
  ['has a type of null', { type: null, properties: { a: { type: 'string' } } }],
  ['has several types', { type: ['object', 'null'], properties: { a: { type: 'string' } } }],
  ['has members that are null', { type: 'object', properties: { a: {} }, required: null, additionalProperties: null }],
  ['is of draft 4', { $schema: 'http://json-schema.org/draft-04/schema#', type: 'object', properties: { a: {} } }],
  ['is in a dialect that nobody knows', { $schema: 'https://a.test/own', type: 'object', properties: { a: {} } }],
  ['refers to what is missing', { type: 'object', properties: { a: { $ref: '#/$defs/a' } } }],
]

test.each(strange)(
  'a tool whose input schema %s can be called: its server checks the input (MC11)',
  async (_, inputSchema) => {
    const server = listing([listed('t', { inputSchema })], ({ params }) => ({
      content: [{ type: 'text', text: JSON.stringify(params?.arguments) }],
    }))
    const { read, tools } = await ran({ servers: { a: server } }, [call('t', { a: 'x' })])
    expect(read).toEqual(['{"a":"x"}'])
    expect(tools[0]?.inputSchema).toMatchObject({ ...inputSchema, type: 'object' })
  },
)

test('a tool without an input schema has no parameters (MC11)', async () => {
  const { tools } = await toolsOf({ servers: { a: listing([{ name: 't', inputSchema: null }, { name: 'u' }]) } })
  expect(tools.map(({ inputSchema }) => inputSchema)).toEqual([{ type: 'object' }, { type: 'object' }])
})

test('a result whose schema cannot be compiled is not checked: its call has run (MC21)', async () => {
  const outputSchema = { $schema: 'http://json-schema.org/draft-04/schema#', type: 'object' }
  const server = listing([listed('t', { outputSchema })], () => ({ content: [], structuredContent: { a: 1 } }))
  expect((await ran({ servers: { a: server } }, [call('t', {})])).read).toEqual(['{"a":1}'])
})

test('a list ends when its cursor comes again, also one that is empty, and no tool is there twice (MC11)', async () => {
  const named = async (pages: Readonly<Record<string, readonly [string, string?]>>) => {
    const server = raw(({ method, params }) => {
      if (method !== 'tools/list') return undefined
      const [name = '', nextCursor] = pages[String(params?.cursor)] ?? []
      return { tools: [listed(name)], nextCursor }
    })
    return await toolsOf({ servers: { a: server }, limits: { tools: 2 } })
  }
  expect(await named({ undefined: ['t', ''], '': ['t', ''] })).toMatchObject({ names: ['t'], warnings: [] })
  expect(await named({ undefined: ['t', 'x'], x: ['u', 'x'] })).toMatchObject({ names: ['t', 'u'], warnings: [] })
  expect(await named({ undefined: ['t', 'x'], x: ['t', 'y'], y: ['t', 'x'] })).toMatchObject({ names: ['t'] })
  expect(await named({ undefined: ['t', ''], '': ['u'] })).toMatchObject({ names: ['t', 'u'], warnings: [] })
})
