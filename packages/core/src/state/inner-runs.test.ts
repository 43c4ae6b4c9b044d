import { call, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { timedLog } from '../../test/timed-log.ts'
import { toolOf } from '../../test/tools.ts'
import {
  type Agent,
  type AgentError,
  type AgentOptions,
  type AssistantMessage,
  agentTool,
  type Checkpoint,
  createAgent,
  type Flow,
  type Model,
  type ModelEvent,
  type Tool,
  tool,
} from '../index.ts'

// Runs of agents inside the calls of other runs: they stop with the run for which they work, and before it does.

unhandledRejections()

/** What tools did, with the time. */
const { log, note, restart } = timedLog()

async function settled<Result>(work: Promise<Result>): Promise<Result> {
  work.catch(() => undefined)
  await vi.advanceTimersByTimeAsync(2_000)
  return await work
}

interface Expert {
  readonly agent: Agent
  /** How often its model was called. */
  readonly asked: () => number
}

/** An agent whose model takes 20 ms to request a look, which takes 20 ms, and then answers. */
function expert(): Expert {
  const model = scriptedModel([respond(wait(20), call('look')), respond(say('Sunny.'))])
  const look = toolOf('look', async () => {
    note('looks')
    await sleep(20)
    note('has looked')
    return 'sun'
  })
  return { agent: createAgent({ name: 'expert', model, tools: [look] }), asked: () => model.requests.length }
}

/** An agent that asks the expert after its tool has waited this long. */
function boss({ agent }: Expert, ms: number): Agent {
  const inner = agentTool(agent, { name: 'expert', description: 'Knows.' })
  const ask: Tool = tool({
    name: 'ask',
    description: 'Asks.',
    input: z.object({}),
    async execute(_, context) {
      if (ms > 0) await sleep(ms)
      return await inner.execute?.({ request: 'Weather?' }, context)
    },
  })
  return createAgent({
    name: 'boss',
    model: scriptedModel([respond(call('ask')), respond(say('Sunny.'))]),
    tools: [ask],
  })
}

type Mode = 'after-tools' | 'after-model' | 'now'

/** Cancels the run with these modes, one after the other from 5 ms on. Returns the outcome of the run and of its resume. */
async function cancelled(modes: readonly Mode[], ms: number) {
  const { agent, asked } = expert()
  const outer = boss({ agent, asked }, ms)
  const run = outer.stream('Go')
  await vi.advanceTimersByTimeAsync(5)
  for (const mode of modes) {
    void run.cancel({ at: mode })
    await vi.advanceTimersByTimeAsync(1)
  }
  const { status, cancelled, checkpoint } = await settled(run.result).then((result) => ({
    checkpoint: undefined,
    cancelled: undefined,
    ...result,
  }))
  const stopped = { status, at: cancelled?.at, asked: asked(), log: log.splice(0), saved: nestedIn(checkpoint)?.status }
  restart()
  const result = await settled(outer.resume(checkpoint ?? '').result)
  return { stopped, resumed: { text: result.text, asked: asked(), log: log.map((line) => line.replace(/^\d+ /, '')) } }
}

function nestedIn(checkpoint: Checkpoint | undefined): Checkpoint | undefined {
  return checkpoint?.calls[0]?.runs[0]?.checkpoint
}

test.each<[string, readonly Mode[], number, object]>([
  ['an active run', ['after-tools'], 0, { at: 'after-tools', asked: 1, log: ['20 looks', '40 has looked'] }],
  ['an active run', ['after-tools', 'after-model'], 0, { at: 'after-model', asked: 1, log: [] }],
  ['an active run', ['after-model', 'after-tools'], 0, { at: 'after-model', asked: 1, log: [] }],
  ['an active run', ['after-tools', 'now'], 0, { at: 'now', asked: 1, log: [] }],
  ['an active run', ['now', 'after-tools'], 0, { at: 'now', asked: 1, log: [] }],
  ['a run that begins later', ['after-tools'], 50, { at: 'after-tools', asked: 0, log: [] }],
  ['a run that begins later', ['after-tools', 'after-model'], 50, { at: 'after-model', asked: 0, log: [] }],
  ['a run that begins later', ['after-model', 'after-tools'], 50, { at: 'after-model', asked: 0, log: [] }],
])('%s in a call is cancelled with it, in the strongest mode: %j (MA5, K16)', async (_, modes, ms, expected) => {
  const { stopped, resumed } = await cancelled(modes, ms)
  expect(stopped).toMatchObject({ status: 'cancelled', ...expected })
  expect(resumed).toMatchObject({ text: 'Sunny.' })
})

/** What ignores its signal. */
type Deaf = 'tool' | 'model' | 'hook'

const never = () => new Promise<never>(() => undefined)

async function* drained(work: Promise<never>): Flow<ModelEvent, AssistantMessage> {
  return await work
}

const deafModel: Model = {
  provider: 'p',
  id: 'm',
  stream: () => drained(never()),
}

/** Agents in calls of agents. The innermost, of depth 0, contains something that ignores its signal. */
function chain(deaf: Deaf, graces: readonly number[], depth = graces.length - 1): Agent {
  const name = depth === 0 ? 'leaf' : `agent${depth - 1}`
  const options: AgentOptions = {
    name: `agent${depth}`,
    description: 'd',
    model: scriptedModel([respond(call(name, depth === 0 ? {} : { request: 'Go' }, { id: `call${depth}` }))]),
    tools: [depth === 0 ? toolOf('leaf', never) : (agentTool(chain(deaf, graces, depth - 1)) as Tool)],
    grace: graces[depth] ?? 0,
  }
  if (depth > 0 || deaf === 'tool') return createAgent(options)
  if (deaf === 'model') return createAgent({ ...options, model: deafModel })
  return createAgent({ ...options, middleware: [{ name: 'deaf', beforeModel: never }] })
}

/** When the innermost gives up, with these grace times; and after it, what reports an end, with its depth. */
const ENDS: Readonly<Record<Deaf, (shortest: number) => readonly string[]>> = {
  tool: (shortest) => [`${shortest} 2 tool-end call0`, `${shortest} 1 tool-end call1`],
  // Nothing waits for the events of a model.
  model: () => ['50 1 tool-end call1'],
  // The outcomes of tools within the grace time come first.
  hook: (shortest) => [`${shortest + 1} 1 tool-end call1`],
}

const deadlines = [
  [100, 100, 100],
  [300, 100, 100],
  [100, 300, 300],
  [300, 200, 100],
].flatMap((graces) =>
  (['tool', 'model', 'hook'] as const).flatMap((deaf) =>
    (['abort', 'cancel'] as const).map((how) => ({ deaf, graces, how })),
  ),
)

test.each(deadlines)(
  'at an $how, where a $deaf ignores its signal and the grace times are $graces, the innermost run gives up first, at the shortest of them, and each reports its end before the one around it (MA5, K12)',
  async ({ deaf, graces, how }) => {
    const controller = new AbortController()
    const run = chain(deaf, graces).stream('Go', { signal: controller.signal })
    const reading = (async () => {
      for await (const event of run) {
        const of = 'callId' in event ? ` ${event.callId}` : ''
        if (event.type.endsWith('-end')) note(`${event.path?.length ?? 0} ${event.type}${of}`)
      }
    })()
    await vi.advanceTimersByTimeAsync(50)
    if (how === 'abort') controller.abort()
    else void run.cancel()
    await settled(reading.catch(() => undefined))
    const inner = ENDS[deaf](50 + Math.min(...graces))
    const [last] = inner.at(-1)?.split(' ') ?? []
    expect(log).toEqual([...inner, `${last} 0 ${how === 'abort' ? 'tool-end call2' : 'run-end'}`])
    const { abandoned } = await run.result.catch((error: AgentError) => error)
    expect(abandoned).toEqual(deaf === 'tool' ? ['call2/call1/call0'] : undefined)
  },
)
