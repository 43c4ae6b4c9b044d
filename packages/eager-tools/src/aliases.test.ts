import { call, cut, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createAgent, type ToolCall } from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { retrying } from '../test/retrying.ts'
import { workshop } from '../test/workshop.ts'
import { eagerTools, type Policy } from './index.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const done = respond(say('Done.'))

function aliased() {
  const { log, make } = workshop()
  const aliases = { names: ['see', 'peek'], input: { n: ['number', 'count'] } }
  return {
    log,
    look: make('look', 'read', { aliases }),
    send: make('send', undefined, { aliases: { names: ['mail'] } }),
  }
}

test('a call by an alias starts as early as by its tool’s own name, and is the call that the loop executes (M9, H9)', async () => {
  const { log, look } = aliased()
  const model = scriptedModel([
    respond(call('see', { number: 1, ms: 5 }, { id: 'c1', deltas: 1 }), wait(100), say('So.')),
    done,
  ])
  const result = await played(createAgent({ model, tools: [look], middleware: [eagerTools()] }).run('Go'))
  expect(log).toEqual(['0 look 1'])
  expect(result.messages.slice(1, 3)).toMatchObject([
    { content: [{ name: 'see', input: { number: 1, ms: 5 } }, { text: 'So.' }] },
    { role: 'tool', callId: 'c1', name: 'see', output: 'look 1' },
  ])
})

test('a retry with another alias, or with the tool’s own name, joins the call that was made (M9, H22)', async () => {
  for (const [name, key] of [
    ['peek', 'count'],
    ['look', 'n'],
  ] as const) {
    const { log, look } = aliased()
    const model = scriptedModel([
      respond(call('see', { number: 1 }, { id: 'a1', deltas: 1 }), wait(100), cut()),
      respond(call(name, { [key]: 1 }, { id: 'b1', deltas: 1 }), wait(100), say('So.')),
      done,
    ])
    const agent = createAgent({ model, tools: [look], middleware: [retrying(), eagerTools()] })
    const result = await played(agent.run('Go'))
    expect(log).toEqual(['0 look 1'])
    expect(result.messages[2]).toMatchObject({ callId: 'b1', name, output: 'look 1' })
  }
})

test('the policy receives the tool’s own name, and an external call by an alias is a barrier (M9, H2)', async () => {
  const { log, look, send } = aliased()
  const asked: Pick<ToolCall, 'name' | 'input'>[] = []
  const policy: Policy = ({ name, input }, { tool }) => {
    asked.push({ name, input })
    return tool.name === 'send' ? 'wait' : undefined
  }
  const model = scriptedModel([
    respond(
      call('see', { number: 1 }, { id: 'c1', deltas: 1 }),
      call('mail', { n: 2 }, { id: 'c2', deltas: 1 }),
      call('see', { number: 3 }, { id: 'c3', deltas: 1 }),
      wait(100),
      say('So.'),
    ),
    done,
  ])
  await played(createAgent({ model, tools: [look, send], middleware: [eagerTools({ policy })] }).run('Go'))
  expect(asked).toEqual([
    { name: 'look', input: { n: 1 } },
    { name: 'send', input: { n: 2 } },
    { name: 'send', input: { n: 2 } },
  ])
  expect(log).toEqual(['0 look 1', '100 send 2', '100 look 3'])
})
