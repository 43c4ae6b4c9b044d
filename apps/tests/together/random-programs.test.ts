import {
  call,
  collect,
  respond,
  type ScriptResponse,
  type ScriptStep,
  say,
  scriptedModel,
  wait,
} from '@meanwhile/assemble/testing'
import {
  type AgentResult,
  type AgentRun,
  type Answers,
  agentTool,
  type Checkpoint,
  createAgent,
  type Middleware,
  type Model,
  memoryStore,
  type Tool,
  type ToolCall,
  type ToolContext,
} from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { approve, callLimits, retryTool } from '@meanwhile/middleware'
import { sleep } from '@meanwhile/tests/clock'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'

// Random programs of two levels: approvals, nested and background agents, limits, keys, slots, aborts and kills, with and without eager tools.

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

type Kind = 'look' | 'pay' | 'write' | 'read' | 'busy' | 'relay' | 'dispatch' | 'agent' | 'background'

interface Deed {
  readonly kind: Kind
  readonly n: number
  readonly ms: number
  readonly inner: readonly Deed[]
  readonly atOnce: boolean
}

interface Program {
  readonly steps: readonly (readonly Deed[])[]
  readonly gap: number
  readonly limits:
    | { readonly toolCalls?: number; readonly perTool?: number; readonly onLimit: 'error' | 'answer' }
    | undefined
  readonly retries: boolean
  readonly toolConcurrency: number
  readonly eagerOutside: boolean
  /** Answers, one at a time: the place of the question among the open ones, or none is answered. */
  readonly answers: readonly { readonly place: number; readonly isNone: boolean }[]
}

const leaf = (kinds: readonly Kind[]): fc.Arbitrary<Deed> =>
  fc.record({
    kind: fc.constantFrom(...kinds),
    n: fc.nat({ max: 2 }),
    ms: fc.nat({ max: 30 }),
    inner: fc.constant([]),
    atOnce: fc.boolean(),
  })
const SIMPLE = ['look', 'pay', 'write', 'read', 'busy', 'relay'] as const
const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 3, arbitrary: leaf(SIMPLE) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('dispatch', 'agent', 'background'),
      n: fc.nat({ max: 2 }),
      ms: fc.nat({ max: 30 }),
      inner: fc.array(leaf(SIMPLE), { minLength: 1, maxLength: 3 }),
      atOnce: fc.boolean(),
    }),
  },
)
const limit = fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined })
const anyProgram: fc.Arbitrary<Program> = fc.record({
  steps: fc.array(fc.array(deed, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 2 }),
  gap: fc.nat({ max: 20 }),
  limits: fc.option(
    fc
      .record({ toolCalls: limit, perTool: limit, onLimit: fc.constantFrom('error', 'answer') })
      .map(
        ({ toolCalls, perTool, onLimit }) =>
          ({ ...(toolCalls && { toolCalls }), ...(perTool && { perTool }), onLimit }) as NonNullable<Program['limits']>,
      ),
    { nil: undefined },
  ),
  retries: fc.boolean(),
  toolConcurrency: fc.constantFrom(1, 2, 10),
  eagerOutside: fc.boolean(),
  answers: fc.array(fc.record({ place: fc.nat({ max: 5 }), isNone: fc.constantFrom(true, false, false, false) }), {
    minLength: 8,
    maxLength: 16,
  }),
})

/** What background work uses counts in the step after its end, which is a matter of timing: so no limit applies to such a program. */
const programs = anyProgram.map((program) => (hasBackground(program) ? { ...program, limits: undefined } : program))

function hasBackground({ steps }: Program): boolean {
  return steps.flat().some(({ kind }) => kind === 'background')
}

/** One execution of a tool that does more than look. */
interface Done {
  readonly tool: string
  readonly input: unknown
  readonly key: string
  readonly callId: string
}

/** A checkpoint, and how much the tools had done when it was saved. */
interface Save {
  readonly checkpoint: Checkpoint
  readonly done: number
}

const input = z.looseObject({ n: z.number(), ms: z.number(), file: z.string() })
type Input = z.infer<typeof input>

const dispatched = z.looseObject({ calls: z.array(z.unknown()), atOnce: z.boolean() })

/** The agent of one program in one process, with this checkpoint in its store. What its tools do is in `journal`, which outlives processes. */
function agentFor(program: Program, isEager: boolean, journal: Done[], saves: Save[], stored?: Checkpoint) {
  const files = new Map<string, number>()
  const note = (tool: string, { n, file }: Input, { idempotencyKey: key, callId }: ToolContext) =>
    void journal.push({ tool, input: { n, file }, key, callId })
  const slots = { concurrency: 1 }
  const simple: readonly Tool[] = [
    {
      name: 'look',
      description: 'Looks.',
      input,
      effect: 'read',
      execute: async ({ n, ms }: Input) => {
        await sleep(ms)
        return `saw ${n}`
      },
    },
    {
      name: 'pay',
      description: 'Pays.',
      input,
      execute: async (paid: Input, context) => {
        note('pay', paid, context)
        await sleep(paid.ms)
        return `paid ${paid.n}`
      },
    },
    {
      name: 'write',
      description: 'Writes.',
      input,
      effect: 'idempotent',
      writes: ({ file }: Input) => [file],
      execute: async (written: Input, context) => {
        note('write', written, context)
        await sleep(written.ms)
        files.set(written.file, written.n)
        return `wrote ${written.n}`
      },
    },
    {
      name: 'read',
      description: 'Reads.',
      input,
      effect: 'read',
      reads: ({ file }: Input) => [file],
      execute: async ({ ms, file }: Input) => {
        await sleep(ms)
        return `read ${files.get(file) ?? 'nothing'}`
      },
    },
    {
      name: 'busy',
      description: 'Has one slot.',
      input,
      ...slots,
      execute: async (one: Input, context) => {
        note('busy', one, context)
        await sleep(one.ms)
        return 'was busy'
      },
    },
    {
      name: 'relay',
      description: 'Has one slot, and calls busy.',
      input,
      ...slots,
      execute: async (one: Input, { run }) => {
        await sleep(one.ms)
        const message = await run?.callTool({ type: 'tool-call', id: 'relayed', name: 'busy', input: one })
        return message?.content
      },
    },
  ] as readonly Tool[]
  const dispatch: Tool = {
    name: 'dispatch',
    description: 'Makes calls.',
    input: dispatched,
    effect: 'calls',
    execute: async ({ calls, atOnce }: { calls: ToolCall[]; atOnce: boolean }, { run }) => {
      if (!run) return []
      if (atOnce) return await Promise.all(calls.map((one) => run.callTool(one).then(({ content }) => content)))
      const results: unknown[] = []
      for (const one of calls) results.push((await run.callTool(one)).content)
      return results
    },
  } as Tool
  const tools: Tool[] = [...simple, dispatch]
  const middlewareOf = (isOuter: boolean): Middleware[] => {
    const own = [
      ...(program.retries ? [retryTool()] : []),
      approve({ tools: ['pay'] }),
      ...(program.limits && isOuter ? [callLimits(program.limits)] : []),
    ]
    const ordered = program.retries ? [own[1] as Middleware, own[0] as Middleware, ...own.slice(2)] : own
    if (!isEager) return ordered
    return program.eagerOutside ? [eagerTools(), ...ordered] : [...ordered, eagerTools()]
  }
  const inputOf = ({ n, ms }: Deed, file: string) => ({ n, ms, file })
  const stepOf = (one: Deed, id: string, isOuter: boolean): ScriptStep => {
    const { kind, inner, atOnce } = one
    if (kind === 'dispatch') {
      const calls = inner.map((each, index) => ({
        type: 'tool-call',
        id: `${id}-${index}`,
        name: each.kind,
        input: inputOf(each, id),
      }))
      return call('dispatch', { calls, atOnce }, { id })
    }
    if (kind !== 'agent' && kind !== 'background')
      return call(kind, inputOf(one, isOuter ? 'shared' : (id.split('-')[0] ?? '')), { id })
    const name = `${kind}_${id}`
    const steps = atOnce ? [inner] : inner.map((each) => [each])
    const agent = createAgent({
      name,
      description: 'Works.',
      model: modelOf((turn) => {
        const now = steps[turn]
        return now
          ? respond(
              ...now.map((each, index) => stepOf(each, `${id}-${turn}${index}`, false)),
              wait(program.gap),
              say('So.'),
            )
          : respond(say(`${name} is done.`))
      }),
      tools: simple,
      middleware: middlewareOf(false),
    })
    tools.push({ ...agentTool(agent), background: kind === 'background' } as Tool)
    return call(name, { request: 'Go' }, { id })
  }
  const responses = program.steps.map((deeds, step) =>
    deeds.flatMap((one, index) => [stepOf(one, `c${step}${index}`, true), wait(program.gap)]),
  )
  const store = memoryStore()
  const ready = stored && store.save(stored.runId, stored, 0)
  return createAgent({
    name: 'outer',
    model: modelOf((turn) => {
      const now = responses[turn]
      return now ? respond(...now, say('Well.')) : respond(say('Done.'))
    }),
    tools,
    middleware: middlewareOf(true),
    toolConcurrency: program.toolConcurrency,
    maxSteps: 10,
    grace: 50,
    checkpoints: {
      ...store,
      async save(id, checkpoint, revision) {
        await ready
        await store.save(id, checkpoint, revision)
        saves.push({ checkpoint: structuredClone(checkpoint) as Checkpoint, done: journal.length })
      },
    },
  })
}

/** A model whose answer depends only on the number of answers in the history, so that a repeated request gets the same answer. */
function modelOf(answer: (turn: number) => ScriptResponse): Model {
  const turnOf = (messages: readonly { readonly role: string }[]) =>
    messages.filter(({ role }) => role === 'assistant').length
  return {
    provider: 'scripted',
    id: 'scripted-1',
    stream: (request) => scriptedModel([answer(turnOf(request.messages))]).stream(request),
  }
}

type End = { readonly result?: AgentResult; readonly error?: unknown }

/** Everything that waits is on the fake clock, so a run that has not ended after it has run out hangs. */
async function ended(run: AgentRun): Promise<End> {
  let end: End | undefined
  const reading = collect(run).then((collected) => {
    end = collected
  })
  await vi.runAllTimersAsync()
  if (!end) throw new Error('the run hangs')
  await reading
  return end
}

const DECISIONS = ['allow', 'deny', 'edit'] as const

/**
 * The answer to one open question. When background work asks is a matter of timing, so the question itself decides what is answered, not how
 * many were answered before.
 */
function answersOf({ interrupts = [] }: AgentResult, { answers }: Program, round: number): Answers {
  const { place, isNone } = answers[round] ?? { place: 0, isNone: false }
  const sorted = interrupts.toSorted((a, b) => JSON.stringify(a.address).localeCompare(JSON.stringify(b.address)))
  const one = sorted[place % Math.max(sorted.length, 1)]
  if (!one || isNone) return {}
  const kind = Array.from(JSON.stringify(one.address)).reduce(
    (sum, letter) => sum + letter.charCodeAt(0),
    answers.length,
  )
  const decision = DECISIONS[kind % DECISIONS.length] ?? 'allow'
  if (decision !== 'edit') return { [one.id]: { decision } }
  const { input } = one.payload as { readonly input: object }
  return { [one.id]: { decision, input: { ...input, n: 9 } as never } }
}

/** The transcript that the model and the user see. When background work ends is a matter of timing, and so are the steps that read its results. */
function transcriptOf(program: Program, { result, error }: End): unknown {
  if (!result) return (error as Error).name
  const messages = hasBackground(program) ? result.messages.filter(({ role }) => role === 'tool') : result.messages
  return { status: result.status, messages, unknown: 'unknown' in result ? result.unknown : undefined }
}

/** More than a program has questions and rounds without an answer. */
const MOST_ROUNDS = 64

/** Plays a program to its end, with answers only. */
async function calm(program: Program, isEager: boolean) {
  const journal: Done[] = []
  const agent = agentFor(program, isEager, journal, [])
  let end = await ended(agent.stream('Go', { id: 'run' }))
  for (let round = 0; round < MOST_ROUNDS && end.result?.status === 'interrupted'; round++)
    end = await ended(agent.resume(end.result.checkpoint, answersOf(end.result, program, round)))
  const deeds = journal.map(({ tool, input }) => JSON.stringify([tool, input])).toSorted()
  return { transcript: transcriptOf(program, end), deeds }
}

const counts = { small: 4, middle: 6, whole: 100_000 }

test('a program of two levels has the same transcript and the same effects with and without eager tools, and never hangs (W1, W3, W9, W10, H1)', async () => {
  await fc.assert(
    fc.asyncProperty(programs, async (program) => {
      const plain = await calm(program, false)
      const eager = await calm(program, true)
      if (plain.transcript === 'CallLimitError') expect(eager.transcript).toBe('CallLimitError')
      else expect(eager).toEqual(plain)
    }),
    propertyRuns(counts),
  )
})

interface Storm {
  /** After how many milliseconds of each life it is stopped, and how. */
  readonly lives: readonly {
    readonly after: number
    readonly how: 'abort' | 'cancel' | 'after-model' | 'kill' | 'goes on'
  }[]
}

const storms: fc.Arbitrary<Storm> = fc.record({
  lives: fc.array(
    fc.record({
      after: fc.nat({ max: 120 }),
      how: fc.constantFrom('abort', 'cancel', 'after-model', 'kill', 'kill', 'kill', 'goes on'),
    }),
    { minLength: 4, maxLength: 4 },
  ),
})

test('whatever stops it, no run hangs, and no call with an effect is executed twice or after it was denied (W1, L20, L21, H18)', async () => {
  await fc.assert(
    fc.asyncProperty(programs, storms, fc.boolean(), async (program, storm, isEager) => {
      const journal: Done[] = []
      const saves: Save[] = []
      const denied = new Set<string>()
      const decide = (result: AgentResult, index: number): Answers => {
        const answers = answersOf(result, program, index)
        for (const { id, payload } of result.interrupts ?? []) {
          const answer = answers[id] as { readonly decision?: string } | undefined
          if (answer?.decision === 'deny') denied.add((payload as { readonly callId: string }).callId)
        }
        return answers
      }
      let agent = agentFor(program, isEager, journal, saves)
      let begin = (signal: AbortSignal) => agent.stream('Go', { id: 'run', signal })
      for (const [index, { after, how }] of storm.lives.entries()) {
        const abort = new AbortController()
        const run = begin(abort.signal)
        if (how === 'abort') setTimeout(() => abort.abort(), after)
        else if (how === 'cancel') setTimeout(() => void run.cancel(), after)
        else if (how === 'after-model') setTimeout(() => void run.cancel({ at: 'after-model' }), after)
        const place = saves.length
        const { result } = await ended(run)
        const killed = how === 'kill' ? place + (after % Math.max(saves.length - place, 1)) : saves.length
        const save = saves[killed]
        if (save?.checkpoint.status === 'completed') break
        if (save) {
          // The process was killed after this save: what it did after the next one never happened.
          journal.length = saves[killed + 1]?.done ?? journal.length
          denied.clear()
        } else if (!result || result.status === 'completed') break
        const from = save?.checkpoint ?? result?.checkpoint
        const answers = save || !result ? {} : decide(result, index)
        agent = agentFor(program, isEager, journal, saves, from)
        begin = (signal) => agent.resume(structuredClone(from) as Checkpoint, answers, { signal })
      }
      expect(journal.filter(({ tool, callId }) => tool === 'pay' && denied.has(callId))).toEqual([])
      const times = new Map<string, number>()
      for (const { key } of journal) times.set(key, (times.get(key) ?? 0) + 1)
      expect([...times.values()].filter((count) => count > 1)).toEqual([])
    }),
    propertyRuns(counts),
  )
})
