import { call, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { assertNoOverlap, assertSpanTree } from '@meanwhile/harness/assert'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { early } from '../../test/early-calls.ts'
import { observed } from '../../test/observed.ts'
import { createAgent, type Tool, tool } from '../index.ts'

// When spans begin and end, by the machine's own clock: a whole run may take less than a millisecond.

const look = tool({
  name: 'look',
  description: 'l',
  input: z.object({}),
  effect: 'read',
  execute: () => 'seen',
}) as Tool
const script = [respond(call('look')), respond(say('Done.'))]

test('spans are in the order in which they began, however quickly one follows the other', async () => {
  for (let i = 0; i < 25; i++) {
    const { telemetry, spans } = observed()
    const agent = createAgent({ model: scriptedModel([...script, ...script]), tools: [look], telemetry })
    await agent.run('Go')
    await agent.run('Go again')
    const run = `
      invoke_agent
        chat scripted-1 {"meanwhile.step.index":1}
        execute_tool look {"meanwhile.step.index":1}
        chat scripted-1 {"meanwhile.step.index":2}`
    assertSpanTree(spans(), run + run, { attributes: ['meanwhile.step.index'] })
    const [chat, execution] = spans()
    expect([chat?.name, execution?.name]).toEqual(['chat scripted-1', 'execute_tool look'])
    if (chat && execution) assertNoOverlap(chat, execution)
  }
})

test('an exception has the time at which it was thrown, although it is recorded when the fate of the call is known', async () => {
  const { telemetry, span } = observed()
  const broken = tool({
    name: 'broken',
    description: 'b',
    input: z.object({}),
    effect: 'read',
    execute: () => {
      throw new RangeError('no')
    },
  }) as Tool
  const model = scriptedModel([respond(call('broken'), wait(20), say('.')), respond(say('Done.'))])
  await createAgent({ model, tools: [broken], middleware: [early], telemetry }).run('Go')
  const execution = span('execute_tool broken')
  expect(execution.attributes['meanwhile.dispatch.mode']).toBe('early')
  expect(execution.events.map(({ time }) => time)).toEqual([execution.endTime])
})
