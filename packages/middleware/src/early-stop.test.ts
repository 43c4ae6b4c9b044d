import {
  type AgentEvent,
  type AgentResult,
  ConfigError,
  createAgent,
  MaxStepsError,
  type Message,
  type Middleware,
  tool,
} from '@meanwhile/core'
import { call, collect, respond, type ScriptedResponse, say, scriptedModel } from '@meanwhile/core/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { DEFAULT_INSTRUCTION, earlyStop } from './early-stop.ts'

const runs: string[] = []
const look = tool({
  name: 'look',
  description: 'Looks',
  input: z.object({ at: z.string().optional() }),
  execute: ({ at = 'nothing' }) => {
    runs.push(at)
    return `saw ${at}`
  },
})

const always = respond(say('Looking.'), call('look', { at: 'it' }))
const closing = respond(say('That is all I know.'))

function setup(
  responses: readonly ScriptedResponse[],
  middleware: readonly Middleware[] = [earlyStop()],
  maxSteps = 2,
) {
  runs.length = 0
  const model = scriptedModel(responses)
  return { model, agent: createAgent({ model, tools: [look], maxSteps, middleware }) }
}

const last = (messages: readonly Message[] | undefined) => messages?.at(-1)

test('without it the limit is an error, after exactly so many model calls (F1)', async () => {
  const { agent, model } = setup([always, always, closing], [])
  await expect(agent.run('Look')).rejects.toBeInstanceOf(MaxStepsError)
  expect(model.requests).toHaveLength(2)
})

test('at the limit one more call is made, whose answer ends the run; the calls of the last step run (F2, N16)', async () => {
  const { agent, model } = setup([always, always, closing])
  const result = await agent.run('Look')
  expect(result).toMatchObject({ status: 'completed', stopReason: 'early-stop', text: 'That is all I know.', steps: 3 })
  expect(model.requests).toHaveLength(3)
  expect(runs).toEqual(['it', 'it'])
})

test('the instruction is the last message of the closing request and says where it comes from (F3)', async () => {
  const { agent, model } = setup([always, always, closing])
  const { messages } = await agent.run('Look')
  const instruction = { role: 'user', content: DEFAULT_INSTRUCTION, origin: 'early-stop' }
  expect(last(model.requests[2]?.messages)).toEqual(instruction)
  expect(messages.at(-2)).toEqual(instruction)
  expect(model.requests[1]?.messages).not.toContainEqual(instruction)
})

test('an empty instruction adds none; anything but a string is refused (F3)', async () => {
  const { agent, model } = setup([always, always, closing], [earlyStop({ instruction: '' })])
  await agent.run('Look')
  expect(last(model.requests[2]?.messages)?.role).toBe('tool')
  expect(() => earlyStop({ instruction: JSON.parse('7') })).toThrow(ConfigError)
})

test('the closing request allows no tool; it tells of tools only if the history holds their messages (F4)', async () => {
  const { agent, model } = setup([always, always, closing])
  await agent.run('Look')
  expect(model.requests[2]).toMatchObject({ toolChoice: 'none', tools: [{ name: 'look' }] })
  expect(model.requests[1]).toMatchObject({ toolChoice: 'auto' })

  const reject: Middleware = { name: 'reject', beforeFinalAnswer: () => ({ accept: false, feedback: 'No.' }) }
  const plain = setup([closing, closing, closing], [earlyStop(), reject])
  await plain.agent.run('Look').catch(() => undefined)
  expect(plain.model.requests[2]).toMatchObject({ toolChoice: 'none', tools: [] })
})

test('calls in the closing answer are taken out: none runs, none is shown, and the text stays (F5)', async () => {
  const { agent } = setup([always, always, respond(say('I would look again.'), call('look', { at: 'more' }))])
  const { events, result } = await collect<AgentEvent, AgentResult>(agent.stream('Look'))
  expect(result?.text).toBe('I would look again.')
  expect(result?.message.content).toEqual([{ type: 'text', text: 'I would look again.' }])
  expect(runs).toEqual(['it', 'it'])
  expect(events.filter((event) => event.step === 3 && event.type.startsWith('tool-'))).toEqual([])
})

test('a run that ends in time is what it would be without (F6)', async () => {
  const stripped = ({ runId: _, ...event }: AgentEvent) => JSON.parse(JSON.stringify(event)) as unknown
  const withIt = setup([always, closing])
  const without = setup([always, closing], [])
  const a = await collect<AgentEvent, AgentResult>(withIt.agent.stream('Look'))
  const b = await collect<AgentEvent, AgentResult>(without.agent.stream('Look'))
  const inner = (event: unknown) =>
    JSON.parse(JSON.stringify(event, (key, value) => (key === 'runId' ? undefined : value)))
  expect(a.events.map(stripped).map(inner)).toEqual(b.events.map(stripped).map(inner))
  const asked = (model: typeof withIt.model) =>
    model.requests.map(({ messages, tools, toolChoice }) => ({ messages, tools, toolChoice }))
  expect(asked(withIt.model)).toEqual(asked(without.model))
})

test('a middleware of one’s own does the same with public means (F7)', async () => {
  const mine: Middleware = {
    name: 'mine',
    beforeAgent: (setup) => ({ ...setup, maxSteps: setup.maxSteps + 1 }),
    beforeModel: ({ messages }, run) =>
      run.step === run.setup.maxSteps
        ? { messages: [...messages, { role: 'user', content: 'Finish.', origin: 'mine' }] }
        : undefined,
    wrapModel: (request, next, run) =>
      next(run.step === run.setup.maxSteps ? { ...request, toolChoice: 'none' } : request),
  }
  const { agent, model } = setup([always, always, closing], [mine])
  expect((await agent.run('Look')).text).toBe('That is all I know.')
  expect(model.requests[2]?.toolChoice).toBe('none')
  expect(last(model.requests[2]?.messages)).toEqual({ role: 'user', content: 'Finish.', origin: 'mine' })
})

test('a closing answer without text ends the run with the limit’s error (N17)', async () => {
  const { agent } = setup([always, always, respond(call('look', { at: 'more' }))])
  await expect(agent.run('Look')).rejects.toMatchObject({ name: 'MaxStepsError', maxSteps: 2 })
  expect(runs).toEqual(['it', 'it'])
})
