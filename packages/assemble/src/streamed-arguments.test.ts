import { callsOf } from '@meanwhile/core'
import { afterEach, expect, test, vi } from 'vitest'
import { called, ended, onlyCall, sealed, stream, typesOf, units } from '../test/streamed-chunks.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

test.each([
  ['{}', '{"x":1}'],
  ['{}{"x":1}'],
  ['{', '}', '{', '"x":1}'],
  [' { } ', ' {"x":1} '],
  ['{}', '{}', '{"x":1}'],
])('a placeholder is replaced by the arguments that follow: %j %j (G5, qC13)', async (...deltas) => {
  const { events, message } = await stream([...called(...deltas), ended()])
  expect(events.filter((event) => event.type === 'tool-input-closed')).toMatchObject([{ call: { input: { x: 1 } } }])
  expect(message && callsOf(message)).toEqual([{ type: 'tool-call', id: 'a', name: 'f', input: { x: 1 } }])
})

test.each([[], ['{}'], [''], [' \n'], ['{ ', '}']])('a call of %j has the input {} (G5, qC12)', async (...deltas) => {
  expect(await onlyCall([...called(...deltas), ended()])).toEqual({ type: 'tool-call', id: 'a', name: 'f', input: {} })
})

test.each(['{"path":"/etc/pass', 'code":"uptime"}', 'json\n{"x":1}', '{}junk', '{"x":1}{"x":2}', '"a'])(
  'arguments %j stay text, sealed and with the reason (G7, qA5, qC30, qC32)',
  async (text) => {
    const { events, message } = await stream([...called(...units(text)), ended()])
    const call = message && callsOf(message)[0]
    expect(call?.input).toBe(text)
    expect(call?.inputError).toMatch(/^arguments are not valid JSON: ./)
    expect(events.at(-1)).toEqual({ type: 'tool-call', call })
  },
)

test('the reason is short, however much of the arguments an engine quotes (G7)', async () => {
  vi.spyOn(JSON, 'parse').mockImplementation((text) => {
    throw new SyntaxError(`JSON Parse error: ${text}`)
  })
  const call = await onlyCall([...called('"'.padEnd(10_000, 'secret ')), ended()])
  expect(call?.inputError).toMatch(/^arguments are not valid JSON: JSON Parse error: "secret /)
  expect(call?.inputError?.length).toBeLessThan(300)
})

test('arguments that are not an object keep their value (G7, qC34)', async () => {
  expect(await onlyCall([...called('[1,', '2]'), ended()])).toMatchObject({ input: [1, 2] })
  expect(await onlyCall([...called('"{\\"x\\":1}"'), ended()])).toMatchObject({ input: '{"x":1}' })
  expect(await onlyCall([...called('nu', 'll'), ended()])).toMatchObject({ input: null })
})

test('a text is parsed once, and once more if it continued after it had closed (G13)', async () => {
  const parse = vi.spyOn(JSON, 'parse')
  const counts: number[] = []
  const text = JSON.stringify({ text: 'x'.repeat(1_000), list: [{}, {}, []] })
  for (const deltas of [
    units(text),
    [...units(text), ' ', '\n'],
    [...units(text), 'j', 'u', 'n', 'k'],
    units(text.slice(0, -1)),
    [' '],
    ['{}', ...units(text)],
    [...units(text), ...units(` ${text}`)],
  ]) {
    parse.mockClear()
    await stream([...called(...deltas), sealed(0), sealed(0), ended()])
    counts.push(parse.mock.calls.length)
  }
  expect(counts).toEqual([1, 1, 2, 1, 0, 1, 2])
})

test('of duplicate keys the last one counts, and __proto__ is a key like others (G14)', async () => {
  const call = await onlyCall([...called('{"a":1,"a":2,', '"__proto__":{"admin":true}}'), ended()])
  expect(call?.input).toEqual(JSON.parse('{"a":2,"__proto__":{"admin":true}}'))
  expect(Object.hasOwn(Object(call?.input), '__proto__')).toBe(true)
  expect(Object.getPrototypeOf(call?.input)).toBe(Object.prototype)
  expect('admin' in {}).toBe(false)
})

test('arguments longer than the limit are neither kept nor parsed (G14)', async () => {
  const parse = vi.spyOn(JSON, 'parse')
  const limits = { characters: 10 }
  const { events, message } = await stream([...called('{"x":', '12345}', '  '), ended()], { limits })
  const call = {
    type: 'tool-call',
    id: 'a',
    name: 'f',
    input: '',
    inputError: 'arguments are longer than 10 characters',
  }
  expect(message?.content).toEqual([call])
  expect(events).toEqual([
    { type: 'tool-input-start', id: 'a', name: 'f' },
    { type: 'tool-input-delta', id: 'a', delta: '{"x":' },
    { type: 'tool-call', call },
  ])
  expect(await onlyCall([...called(), sealed(0, '{"x":12345}'), ended()], { limits })).toEqual(call)
  expect(parse).not.toHaveBeenCalled()
})

test('the limit applies to the text that counts, and may be reached (G14)', async () => {
  const limits = { characters: 10 }
  expect(await onlyCall([...called('{"x":', '1234}'), ended()], { limits })).toMatchObject({ input: { x: 1234 } })
  for (const deltas of [['{"x":1234}'], ['{"x":', '1234567']]) {
    const call = await onlyCall([...called(...deltas), sealed(0, '{"x":5678}'), ended()], { limits })
    expect(call).toEqual({ type: 'tool-call', id: 'a', name: 'f', input: { x: 5678 } })
  }
})

test('arguments nested deeper than the limit are not parsed (G14)', async () => {
  const parse = vi.spyOn(JSON, 'parse')
  const limits = { depth: 2 }
  for (const text of ['{"x":[{}]}', '[[[]]]']) {
    const { events, message } = await stream([...called(...units(text)), ended()], { limits })
    expect(typesOf(events)).not.toContain('tool-input-closed')
    expect(message?.content).toMatchObject([{ input: text, inputError: 'arguments are nested deeper than 2 levels' }])
  }
  expect(parse).not.toHaveBeenCalled()
  expect(await onlyCall([...called('{"x":[1]}'), ended()], { limits })).toMatchObject({ input: { x: [1] } })
})
