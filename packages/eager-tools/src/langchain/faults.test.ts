import { AIMessage, ToolMessage } from '@langchain/core/messages'
import { StructuredTool } from '@langchain/core/tools'
import { Command, interrupt, MemorySaver } from '@langchain/langgraph'
import { createMiddleware, humanInTheLoopMiddleware, toolRetryMiddleware } from 'langchain'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  answer,
  begin,
  breaks,
  type Config,
  human,
  looks,
  more,
  type Played,
  plainAndEager,
  retry,
  shown,
  text,
  wait,
} from '../../test/langchain.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

interface Case extends Played {
  readonly plain: readonly string[]
  readonly eager?: readonly string[]
  readonly warnings?: readonly string[]
}

const declined = { warnings: ['tool-declined'] }

const a = '{"q":"a"}'

const b = '{"q":"b"}'

const retrying = () => ({ middleware: [retry()] })

/** Aborts the run after this many milliseconds. */
const stopping =
  (ms: number): (() => Config) =>
  () => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(new Error('stop')), ms)
    return { signal: controller.signal }
  }

const broken = () => () => {
  throw new Error('broken')
}

// With `exactOptionalPropertyTypes` its parameter is `never`.
const guard = (options: object) => humanInTheLoopMiddleware(options as never)

const guarding =
  (...names: readonly string[]): (() => object) =>
  () => ({
    checkpointer: new MemorySaver(),
    middleware: [guard({ interruptOn: Object.fromEntries(names.map((name) => [name, true])) })],
  })

const resumed =
  (resume: unknown): NonNullable<Played['go']> =>
  async (agent) => {
    const config = { configurable: { thread_id: 't' } }
    const first: object = await agent.invoke(human(), config)
    const asked = '__interrupt__' in first ? first.__interrupt__ : 'nothing'
    const values = Array.isArray(asked) ? asked.map(({ value }) => value) : asked
    const second = await agent.invoke(new Command({ resume }), config)
    return { values, messages: shown(second) }
  }

const decided = (decision: object): NonNullable<Played['go']> => resumed({ decisions: [decision] })

/** Unlike `tool()`, a class does not pass its config to what it calls. */
class Asking extends StructuredTool {
  override readonly name = 'look'
  override readonly description = 'asks'
  override readonly schema = z.object({ q: z.string() })

  protected override async _call(): Promise<string> {
    return `human said ${interrupt('sure?')}`
  }
}

const cases: Readonly<Record<string, Case>> = {
  'a read starts while the model is still streaming, and is executed once (R2)': {
    responses: [looks(), answer],
    plain: [`100 1 ${a}`],
    eager: [`0 1 ${a}`],
  },
  'a tool that throws: the model reads the same error (R12)': {
    look: broken,
    responses: [looks(), answer],
    plain: [`100 1 ${a}`],
    eager: [`0 1 ${a}`],
  },
  'a tool that throws under a wrapToolCall middleware: the run throws the same (R12)': {
    look: broken,
    options: () => ({
      middleware: [createMiddleware({ name: 'pass', wrapToolCall: (request, ask) => ask(request) })],
    }),
    responses: [looks(), answer],
    plain: [`100 1 ${a}`],
    eager: [`0 1 ${a}`],
  },
  'an undeclared tool is a barrier: later calls do not start early (R1)': {
    responses: [
      [begin(0, '1', 'send'), more(0, '{"q":"x"}'), begin(1, '2', 'look'), more(1, a), wait(100), text('x')],
      answer,
    ],
    plain: ['100 1 {"q":"x"}', `100 2 ${a}`],
  },
  'unless it is listed as independent (R1)': {
    settings: { independent: ['send'] },
    responses: [
      [begin(0, '1', 'send'), more(0, '{"q":"x"}'), begin(1, '2', 'look'), more(1, a), wait(100), text('x')],
      answer,
    ],
    plain: ['100 1 {"q":"x"}', `100 2 ${a}`],
    eager: [`0 2 ${a}`, '100 1 {"q":"x"}'],
  },
  'declaring a tool as external is the same as not declaring it (R1)': {
    effects: { look: 'external' },
    responses: [looks(), answer],
    plain: [`100 1 ${a}`],
  },
  'an idempotent tool waits for the end, because chunks never mark a call as complete (R1)': {
    effects: { look: 'idempotent' },
    responses: [looks(), answer],
    plain: [`100 1 ${a}`],
  },
  'a stream that breaks after the call: the run throws the same, and the read is aborted (R4)': {
    ms: 200,
    responses: [[...looks('1', 'a', 50), breaks()], answer],
    plain: [],
    eager: [`0 1 ${a}`, `50 1 ${a} aborted`],
  },
  'modelRetryMiddleware retries: the same call with another id joins the early one (R4)': {
    ms: 150,
    options: retrying,
    responses: [[...looks('1', 'a', 50), breaks()], looks('9'), answer],
    plain: [`151 9 ${a}`],
    eager: [`0 1 ${a}`],
  },
  'modelRetryMiddleware retries: another call is another execution, and the first one is aborted (R4)': {
    ms: 250,
    options: retrying,
    responses: [[...looks('1', 'a', 50), breaks()], looks('9', 'b'), answer],
    plain: [`151 9 ${b}`],
    eager: [`0 1 ${a}`, `51 9 ${b}`, `151 1 ${a} aborted`],
  },
  'arguments that continue after they have closed: nothing is executed, and the read is aborted (R3)': {
    ms: 150,
    responses: [[begin(0, '1', 'look'), more(0, a), wait(50), more(0, ',"n":1}'), wait(20)], answer],
    plain: [],
    eager: [`0 1 ${a}`, `70 1 ${a} aborted`],
  },
  'two equal calls are two executions (R2)': {
    responses: [[begin(0, '1', 'look'), more(0, a), begin(1, '2', 'look'), more(1, a), wait(50), text('x')], answer],
    plain: [`50 1 ${a}`, `50 2 ${a}`],
    eager: [`0 1 ${a}`, `0 2 ${a}`],
  },
  'if an id occurs twice in a response, each call gets the result of its own input (R2)': {
    responses: [[begin(0, '1', 'look'), more(0, a), begin(1, '1', 'look'), more(1, b), wait(50), text('x')], answer],
    plain: [`50 1 ${a}`, `50 1 ${b}`],
    eager: [`0 1 ${a}`, `0 1 ${b}`],
  },
  'the same id in the next step is another call (R2)': {
    responses: [looks(), looks(), answer],
    plain: [`100 1 ${a}`, `220 1 ${a}`],
    eager: [`0 1 ${a}`, `100 1 ${a}`],
  },
  'input that the schema rejects: the model reads the same error, and nothing is executed (R6)': {
    responses: [[begin(0, '1', 'look'), more(0, '{"q":1}'), wait(50), text('x')], answer],
    plain: [],
  },
  'a run that is aborted while the model streams (R12)': {
    ms: 300,
    config: stopping(80),
    responses: [looks('1', 'a', 200), answer],
    plain: [],
    eager: [`0 1 ${a}`, `80 1 ${a} aborted`],
  },
  'a run that is aborted while it waits for an early call (R12)': {
    ms: 400,
    config: stopping(150),
    responses: [looks('1', 'a', 50), answer],
    plain: [`50 1 ${a}`, `150 1 ${a} aborted`],
    eager: [`0 1 ${a}`, `150 1 ${a} aborted`],
  },
  'a tool that reads the messages of the state is executed by the agent (R3)': {
    ...declined,
    look:
      () =>
      (_, { state }) =>
        `messages: ${String(Reflect.get(Object(state), 'messages').length)}`,
    responses: [looks(), answer],
    plain: [`100 1 ${a}`],
    eager: [`0 1 ${a}`, `100 1 ${a}`],
  },
  'a tool that reads the messages only after the response is accepted is executed by the agent, too (R3)': {
    ...declined,
    ms: 150,
    look:
      () =>
      (_, { state }) =>
        `messages: ${String(Reflect.get(Object(state), 'messages').length)}`,
    responses: [looks(), answer],
    plain: [`100 1 ${a}`],
    eager: [`0 1 ${a}`, `150 1 ${a}`],
  },
  'a tool that catches the error of reading the messages is executed by the agent, too (R3)': {
    ...declined,
    ms: 150,
    look:
      () =>
      (_, { state }) => {
        try {
          return `messages: ${String(Reflect.get(Object(state), 'messages').length)}`
        } catch {
          return 'no messages'
        }
      },
    responses: [looks(), answer],
    plain: [`100 1 ${a}`],
    eager: [`0 1 ${a}`, `150 1 ${a}`],
  },
  'a tool that writes to the stream is executed by the agent (R3)': {
    ...declined,
    look:
      () =>
      (_, { writer }) => {
        writer?.({ a: 1 })
        return 'wrote'
      },
    async go(agent) {
      const chunks: unknown[] = []
      for await (const [mode, chunk] of await agent.stream(human(), { streamMode: ['custom', 'values'] }))
        chunks.push(mode === 'custom' ? chunk : shown(chunk))
      return chunks
    },
    responses: [looks(), answer],
    plain: [`100 1 ${a}`],
    eager: [`0 1 ${a}`, `100 1 ${a}`],
  },
  'a tool reads the context of the run (R2)': {
    options: () => ({ contextSchema: z.object({ user: z.string() }) }),
    config: () => ({ context: { user: 'ann' } }),
    look:
      () =>
      (_, { context }) =>
        `user ${String(Reflect.get(Object(context), 'user'))}`,
    responses: [looks(), answer],
    plain: [`100 1 ${a}`],
    eager: [`0 1 ${a}`],
  },
  'a tool that returns a Command (R2)': {
    look:
      () =>
      (_, { toolCallId: tool_call_id }) =>
        new Command({ update: { messages: [new ToolMessage({ content: 'by command', tool_call_id })] } }),
    responses: [looks(), answer],
    plain: [`100 1 ${a}`],
    eager: [`0 1 ${a}`],
  },
  'a Command that was made for another id is not joined, because the id in it cannot be replaced (R3)': {
    ms: 10,
    options: retrying,
    look:
      () =>
      (_, { toolCallId: tool_call_id }) =>
        new Command({ update: { messages: [new ToolMessage({ content: 'by command', tool_call_id })] } }),
    responses: [[...looks('1', 'a', 50), breaks()], looks('9'), answer],
    plain: [`151 9 ${a}`],
    eager: [`0 1 ${a}`, `151 9 ${a}`],
  },
  'a tool that interrupts is executed by the agent, and resumed (R3)': {
    ...declined,
    options: () => ({ checkpointer: new MemorySaver() }),
    look: () => () => `human said ${interrupt('sure?')}`,
    go: resumed('yes'),
    responses: [looks(), answer],
    plain: [`100 1 ${a}`, `120 1 ${a}`],
    eager: [`0 1 ${a}`, `100 1 ${a}`, `120 1 ${a}`],
  },
  'a tool of a class of its own that interrupts is executed by the agent, and resumed (R3)': {
    ...declined,
    options: () => ({ checkpointer: new MemorySaver(), tools: [new Asking()] }),
    go: resumed('yes'),
    responses: [looks(), answer],
    plain: [],
  },
  'an approval: approved (R6)': {
    options: guarding('look'),
    settings: { approval: ['look'] },
    go: decided({ type: 'approve' }),
    responses: [looks(), answer],
    plain: [`100 1 ${a}`],
  },
  'an approval: rejected (R6)': {
    options: guarding('look'),
    settings: { approval: ['look'] },
    go: decided({ type: 'reject' }),
    responses: [looks(), answer],
    plain: [],
  },
  'an approval: edited (R6)': {
    options: guarding('look'),
    settings: { approval: ['look'] },
    go: decided({ type: 'edit', editedAction: { name: 'look', args: { q: 'b' } } }),
    responses: [looks(), answer],
    plain: [`100 1 ${b}`],
  },
  'if another call of the response needs an approval, a read is joined after the approval (R6, W46)': {
    ms: 150,
    options: guarding('send'),
    settings: { approval: ['send'] },
    go: decided({ type: 'approve' }),
    responses: [[begin(0, '1', 'look'), more(0, a), begin(1, '2', 'send'), more(1, a), wait(80), text('x')], answer],
    plain: [`80 1 ${a}`, `80 2 ${a}`],
    eager: [`0 1 ${a}`, `80 2 ${a}`],
  },
  'a read of a response without the guarded tool is joined (R6)': {
    options: guarding('send'),
    settings: { approval: ['send'] },
    responses: [looks(), answer],
    config: () => ({ configurable: { thread_id: 't' } }),
    plain: [`100 1 ${a}`],
    eager: [`0 1 ${a}`],
  },
  'a middleware changes the arguments: that call is not joined (R3)': {
    ms: 200,
    options: () => ({
      middleware: [
        createMiddleware({
          name: 'change',
          wrapToolCall: (request, ask) => ask({ ...request, toolCall: { ...request.toolCall, args: { q: 'b' } } }),
        }),
      ],
    }),
    responses: [looks(), answer],
    plain: [`100 1 ${b}`],
    eager: [`0 1 ${a}`, `100 1 ${a} aborted`, `100 1 ${b}`],
  },
  'a middleware returns a result in place of the tool: the read is discarded with the next step (R7)': {
    ms: 200,
    options: () => ({
      middleware: [
        createMiddleware({
          name: 'deny',
          wrapToolCall: ({ toolCall: { id = '' } }) => new ToolMessage({ content: 'denied', tool_call_id: id }),
        }),
      ],
    }),
    responses: [looks('1', 'a', 30), answer],
    plain: [],
    eager: [`0 1 ${a}`, `30 1 ${a} aborted`],
    warnings: ['call-prevented'],
  },
  'toolRetryMiddleware repeats a tool that has failed once (R12)': {
    options: () => ({ middleware: [toolRetryMiddleware({ maxRetries: 2, initialDelayMs: 1, jitter: false })] }),
    look() {
      let count = 0
      return () => {
        if (++count === 1) throw new Error('once')
        return 'second'
      }
    },
    responses: [looks(), answer],
    plain: [`100 1 ${a}`, `121 1 ${a}`],
    eager: [`0 1 ${a}`, `101 1 ${a}`],
  },
  'a middleware replaces the model’s message by another one with the same calls (R2)': {
    options: () => ({
      middleware: [
        createMiddleware({
          name: 'copy',
          async wrapModelCall(request, ask) {
            const { content, tool_calls = [], id } = await ask(request)
            return new AIMessage({ content, tool_calls, ...(id && { id }) })
          },
        }),
      ],
    }),
    responses: [looks(), answer],
    plain: [`100 1 ${a}`],
    eager: [`0 1 ${a}`],
  },
  'a middleware replaces the message and its calls by copies with the same id (R2)': {
    options: () => ({
      middleware: [
        createMiddleware({
          name: 'copy',
          async wrapModelCall(request, ask) {
            const { content, tool_calls = [], id } = await ask(request)
            return new AIMessage({ content, tool_calls: structuredClone(tool_calls), ...(id && { id }) })
          },
        }),
      ],
    }),
    responses: [looks(), answer],
    plain: [`100 1 ${a}`],
    eager: [`0 1 ${a}`],
  },
  'a middleware replaces the message and its calls by copies with another id: they are executed by the agent (R3)': {
    options: () => ({
      middleware: [
        createMiddleware({
          name: 'copy',
          async wrapModelCall(request, ask) {
            const { content, tool_calls = [] } = await ask(request)
            return new AIMessage({ content, tool_calls: structuredClone(tool_calls) })
          },
        }),
      ],
    }),
    responses: [looks(), answer],
    plain: [`100 1 ${a}`],
    eager: [`0 1 ${a}`, `100 1 ${a}`],
  },
  'the agent executes calls also after `length`, so they are joined there, too (R4)': {
    responses: [
      [begin(0, '1', 'look'), more(0, a), wait(60), { text: 'x', metadata: { finish_reason: 'length' } }],
      answer,
    ],
    plain: [`60 1 ${a}`],
    eager: [`0 1 ${a}`],
  },
  'two simultaneous runs of one agent do not mix up equal ids (R2)': {
    ms: 60,
    go: (agent) => Promise.all(['a', 'b'].map(async (said) => shown(await agent.invoke(human(said))))),
    responses: [looks('1', 'a', 50), looks('1', 'b', 90), answer],
    plain: [`50 1 ${a}`, `90 1 ${b}`],
    eager: [`0 1 ${a}`, `0 1 ${b}`],
  },
  'early calls respect the graph’s limit of simultaneous tasks (R2)': {
    ms: 60,
    // In version v2 LangGraph forgets tasks that wait for a place.
    options: () => ({ version: 'v1' }),
    config: () => ({ maxConcurrency: 1 }),
    responses: [[begin(0, '1', 'look'), more(0, a), begin(1, '2', 'look'), more(1, b), wait(150), text('x')], answer],
    plain: [`150 1 ${a}`, `150 2 ${b}`],
    eager: [`0 1 ${a}`, `60 2 ${b}`],
  },
  'without alwaysStream a model that does not stream is unchanged (R1)': {
    settings: { alwaysStream: false },
    responses: [looks(), answer],
    plain: [`100 1 ${a}`],
  },
  'without alwaysStream a model with `streaming: true` starts reads early (R2)': {
    settings: { alwaysStream: false },
    streaming: true,
    responses: [looks(), answer],
    plain: [`100 1 ${a}`],
    eager: [`0 1 ${a}`],
  },
  'without alwaysStream a run that streams its messages starts reads early (R2)': {
    settings: { alwaysStream: false },
    async go(agent) {
      const chunks: unknown[] = []
      for await (const [message] of await agent.stream(human(), { streamMode: 'messages' }))
        chunks.push(shown({ messages: [message] }))
      return chunks
    },
    responses: [looks(), answer],
    plain: [`100 1 ${a}`],
    eager: [`0 1 ${a}`],
  },
  'a model that streams content blocks is read, too (R2)': {
    settings: { alwaysStream: false },
    async go(agent) {
      const run = await agent.streamEvents(human(), { version: 'v3' })
      return shown(await run.output)
    },
    responses: [looks(), answer],
    plain: [`100 1 ${a}`],
    eager: [`0 1 ${a}`],
  },
  'version v1 of the agent executes all calls in one node (R2)': {
    options: () => ({ version: 'v1' }),
    responses: [[begin(0, '1', 'look'), more(0, a), begin(1, '2', 'send'), more(1, a), wait(50), text('x')], answer],
    plain: [`50 1 ${a}`, `50 2 ${a}`],
    eager: [`0 1 ${a}`, `50 2 ${a}`],
  },
  'a malformed piece of arguments changes nothing for the caller (R4)': {
    responses: [[begin(0, '1', 'look'), { call: Object({ index: 0, args: 5 }) }, wait(100), text('x')], answer],
    plain: [],
  },
  'a malformed call changes nothing for the caller, and the calls before it are not joined (R4)': {
    responses: [[...looks('1', 'a', 0), { call: Object({ index: 1, name: {}, args: {} }) }, wait(100)], answer],
    plain: [`100 1 ${a}`],
    eager: [`0 1 ${a}`, `0 1 ${a} aborted`, `100 1 ${a}`],
  },
  'agent names in the messages create new message objects for the responses (R2)': {
    options: () => ({ name: 'agent', includeAgentName: 'inline' }),
    responses: [looks(), answer],
    plain: [`100 1 ${a}`],
    eager: [`0 1 ${a}`],
  },
}

test.for(Object.entries(cases))('%s', async ([, { plain, eager = plain, warnings = [], ...played }]) => {
  const came = await plainAndEager(played)
  expect(came.eager.result).toEqual(came.plain.result)
  expect({ plain: came.plain.log, eager: came.eager.log }).toEqual({ plain, eager })
  expect(came.eager.warnings).toEqual(warnings)
  expect(vi.getTimerCount()).toBe(0)
})
