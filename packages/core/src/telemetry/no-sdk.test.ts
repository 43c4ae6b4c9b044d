import { call, fail, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { context, createNoopMeter, INVALID_SPAN_CONTEXT, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { early } from '../../test/early-calls.ts'
import { createAgent, runTool, type Tool, tool } from '../index.ts'

// Nothing is registered while this file runs: no SDK, no context manager.

const seen: unknown[] = []
const look = tool({
  name: 'look',
  description: 'l',
  input: z.object({}),
  effect: 'read',
  execute() {
    seen.push(trace.getActiveSpan())
    return 'seen'
  },
}) as Tool

test('without an SDK runs and tools work and fail as usual, and nothing is made for metrics', async () => {
  const meter = createNoopMeter()
  const made = [vi.spyOn(meter, 'createHistogram'), vi.spyOn(meter, 'createCounter')]
  const middleware = [early, { name: 'hook', afterModel: () => undefined }]
  const agent = (...responses: Parameters<typeof scriptedModel>[0]) =>
    createAgent({ model: scriptedModel(responses), tools: [look], middleware })
  expect((await agent(respond(call('look')), respond(say('Hi.'))).run('Hi')).text).toBe('Hi.')
  await expect(agent(respond(fail({ status: 400 }))).run('Hi')).rejects.toMatchObject({
    name: 'ModelError',
    status: 400,
  })
  expect(await runTool(look, {})).toBe('seen')
  await expect(runTool(look, { n: 1 }, { timeout: 0 })).rejects.toMatchObject({ name: 'ConfigError' })
  expect(seen).toEqual([undefined, undefined])
  for (const spy of made) expect(spy).not.toHaveBeenCalled()
})

test('without a context manager, too, nothing is active, and the checkpoint of a run contains no trace', async () => {
  expect(context.active()).toBe(ROOT_CONTEXT)
  const carrier = {}
  propagation.inject(context.active(), carrier)
  expect(carrier).toEqual({})
  const run = createAgent({ model: scriptedModel([respond(say('Hi.'))]) }).stream('Hi')
  await run.cancel()
  const { checkpoint } = await run.result
  expect(checkpoint).toMatchObject({ status: 'cancelled' })
  expect(checkpoint).not.toHaveProperty('trace')
  expect(JSON.stringify(checkpoint)).not.toContain(INVALID_SPAN_CONTEXT.traceId)
})
