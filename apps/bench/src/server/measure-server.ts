/** Measures what a turn costs a server. The model, each server and each worker have their own process on this machine. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join as pathOf } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createDatabase } from '@meanwhile/postgres-cluster'
import { startProcess } from '../asked-process.ts'
import { startServer } from '../durable/server.ts'
import { rotated } from '../rotated.ts'
import { median, percentile } from '../stats.ts'
import type { Answer, Request, Took } from './chat-process.ts'
import { type DurableCost, durableParts, measureDurableRuns } from './measure-durable-runs.ts'
import { join, type Seen, send } from './pages.ts'
import type { Plan } from './plan.ts'
import { hasHistory, isOurs, isShared, SETUPS, type SetUpName } from './setups.ts'

/** The costs of one turn, and how late its words were. */
export interface TurnCost {
  readonly name: SetUpName
  /** How many turns went on at once. */
  readonly turns: number
  /** How long a turn took, in milliseconds: the median. */
  readonly wallMs: number
  readonly cpuMs: number
  readonly postgresMs?: number | undefined
  readonly statements: number
  readonly bytes: number
  /** The delay of the event loop that 99 % of its turns do not exceed, in milliseconds. */
  readonly loopMs: number
  /** From the request to the first word: the median, in milliseconds. */
  readonly firstMs: number
  /** How late the words were, in milliseconds: the median, and what 99 % do not exceed. */
  readonly lateMs: number
  readonly late99Ms: number
}

export interface LengthCost extends TurnCost {
  /** How many messages the thread had before. */
  readonly messages: number
}

/** What pages cost that join a running turn: all of them together. */
export interface ReadersCost {
  readonly name: SetUpName
  /** Whether another process runs the turn. */
  readonly isElsewhere: boolean
  readonly readers: number
  readonly cpuMs: number
  /** Reads of the store, in the process of the readers. */
  readonly reads: number
  readonly lateMs: number
}

export interface ServerCost {
  /** The version of the PostgreSQL server. */
  readonly version: string
  /** The medians of the rounds. */
  readonly loads: readonly TurnCost[]
  /** The medians of the rounds. */
  readonly lengths: readonly LengthCost[]
  readonly readers: readonly ReadersCost[]
  readonly durable: readonly DurableCost[]
}

export interface ServerCostOptions {
  readonly plan: Plan
  readonly signal: AbortSignal
  /** Called before each part. */
  onPart?(title: string): void
}

const MODEL = fileURLToPath(new URL('./model-process.ts', import.meta.url))
const CHAT = fileURLToPath(new URL('./chat-process.ts', import.meta.url))
const EXEC_ARGV = ['--conditions=@meanwhile/source', '--no-warnings']

/** Readers join after this many words. */
const JOINED_AFTER = 20

/** The number of parts. */
export function partsOf(plan: Plan): number {
  const { servers, rounds, loads, lengths, readers } = plan
  const histories = servers.filter(hasHistory).length
  const places = servers.filter(isOurs).length + servers.filter(isShared).length
  return (
    servers.length * (1 + rounds * loads.length) +
    histories * rounds * lengths.length +
    places * readers.length +
    durableParts(plan)
  )
}

/** @throws {NoPostgresError} PostgreSQL is not installed. */
export async function measureServer({ plan, signal, onPart = () => {} }: ServerCostOptions): Promise<ServerCost> {
  await using server = await startServer()
  const folder = await mkdtemp(pathOf(tmpdir(), 'meanwhile-bench-'))
  try {
    const speech = [plan.speech.wordsPerSecond, plan.speech.words].map(String)
    await using model = startProcess<object, { readonly port: number }>(MODEL, speech, { signal, execArgv: EXEC_ARGV })
    const modelUrl = `http://127.0.0.1:${(await model.ask({})).port}/v1`
    const database = new Map<SetUpName, string>()
    for (const name of plan.servers) database.set(name, await createDatabase(server.url))
    await using processes = new AsyncDisposableStack()
    const open = async (name: SetUpName): Promise<Subject> => {
      const place = [name, modelUrl, pathOf(folder, `${name}.db`), database.get(name) ?? '']
      const server = processes.use(await opened(name, place, signal))
      await turnsOf(server, threadsNamed(plan.warmUp), signal)
      return { name, server }
    }
    const subjects: Subject[] = []
    for (const name of plan.servers) {
      onPart(SETUPS[name].title)
      subjects.push(await open(name))
    }
    const measurement: Measurement = { plan, signal, onPart }
    const loads: TurnCost[] = []
    for (let round = 0; round < plan.rounds; round++)
      for (const subject of rotated(subjects, round)) loads.push(...(await loadsOf(subject, measurement)))
    const lengths: LengthCost[] = []
    const withHistory = subjects.filter(({ name }) => hasHistory(name))
    for (let round = 0; round < plan.rounds; round++)
      for (const subject of rotated(withHistory, round)) lengths.push(...(await lengthsOf(subject, measurement)))
    const readers: ReadersCost[] = []
    for (const subject of subjects.filter(({ name }) => isOurs(name))) {
      readers.push(...(await readersOf(subject, undefined, measurement)))
      if (isShared(subject.name) && plan.readers.length > 0)
        readers.push(...(await readersOf(subject, await open(subject.name), measurement)))
    }
    const durable = await measureDurableRuns({ plan, signal, onPart, server })
    return { version: server.version, loads: medians(loads), lengths: medians(lengths), readers, durable }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

interface Measurement {
  readonly plan: Plan
  readonly signal: AbortSignal
  onPart(title: string): void
}

interface Subject {
  readonly name: SetUpName
  readonly server: Opened
}

interface Opened extends AsyncDisposable {
  readonly port: number
  begin(): Promise<void>
  end(): Promise<Took>
  seed(threads: readonly string[], turns: number): Promise<void>
}

async function opened(name: SetUpName, args: readonly string[], signal: AbortSignal): Promise<Opened> {
  const child = startProcess<Request, Answer>(CHAT, args, { signal, execArgv: EXEC_ARGV })
  const ask = async (request: Request) => {
    const answer = await child.ask(request)
    if ('problem' in answer) throw new Error(`${SETUPS[name].title}: ${answer.problem}`)
    return answer
  }
  try {
    const answer = await ask({ type: 'open' })
    return {
      port: 'port' in answer ? answer.port : 0,
      begin: async () => void (await ask({ type: 'begin' })),
      async end() {
        const took = await ask({ type: 'end' })
        if ('port' in took) throw new Error('a server has reported nothing')
        return took
      },
      seed: async (threads, turns) => void (await ask({ type: 'seed', threads, turns })),
      [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
    }
  } catch (error) {
    await child[Symbol.asyncDispose]()
    throw error
  }
}

async function loadsOf({ name, server }: Subject, measurement: Measurement): Promise<readonly TurnCost[]> {
  const { plan, signal, onPart } = measurement
  const costs: TurnCost[] = []
  for (const turns of plan.loads) {
    onPart(`${SETUPS[name].title}, ${turns} turns`)
    costs.push(costOf(name, await turnsOf(server, threadsNamed(turns), signal)))
  }
  return costs
}

async function lengthsOf({ name, server }: Subject, measurement: Measurement): Promise<readonly LengthCost[]> {
  const { plan, signal, onPart } = measurement
  const costs: LengthCost[] = []
  for (const messages of plan.lengths) {
    onPart(`${SETUPS[name].title}, threads of ${messages} messages`)
    const threads = threadsNamed(plan.threads)
    await server.seed(threads, messages / 2)
    costs.push({ ...costOf(name, await turnsOf(server, threads, signal)), messages })
  }
  return costs
}

/** `elsewhere`: the server from which the pages read, if it is another one. */
async function readersOf(
  { name, server: owner }: Subject,
  elsewhere: Subject | undefined,
  { plan, signal, onPart }: Measurement,
): Promise<readonly ReadersCost[]> {
  const { server } = elsewhere ?? { server: owner }
  const isElsewhere = server !== owner
  const costs: ReadersCost[] = []
  for (const readers of plan.readers) {
    onPart(`${SETUPS[name].title}, ${readers} readers${isElsewhere ? ' in another process' : ''}`)
    const [thread = ''] = threadsNamed(1)
    let joins = () => {}
    const joined = new Promise<void>((resolve) => {
      joins = resolve
    })
    const turn = send({ port: owner.port, thread, signal, onWord: (count) => count === JOINED_AFTER && joins() })
    await Promise.race([joined, turn])
    await server.begin()
    const began = performance.now()
    const seen = await Promise.all(Array.from({ length: readers }, () => join({ port: server.port, thread, signal })))
    const passed = performance.now() - began
    checkWhole([await turn, ...seen])
    const { cpuMs, reads } = await server.end()
    // A reader first gets the words that were said before it came.
    const late = seen.flatMap(({ lateMs }) => lateMs.filter((ms) => ms < passed / 2))
    costs.push({ name, isElsewhere, readers, cpuMs, reads, lateMs: median(late) ?? Number.NaN })
  }
  return costs
}

interface Turns {
  readonly seen: readonly Seen[]
  readonly took: Took
}

async function turnsOf(server: Opened, threads: readonly string[], signal: AbortSignal): Promise<Turns> {
  signal.throwIfAborted()
  await server.begin()
  const seen = await Promise.all(threads.map((thread) => send({ port: server.port, thread, signal })))
  checkWhole(seen)
  return { seen, took: await server.end() }
}

function checkWhole(seen: readonly Seen[]): void {
  const cut = seen.filter(({ isWhole }) => !isWhole).length
  if (cut > 0) throw new Error(`${cut} of ${seen.length} streams were cut off`)
}

function costOf(name: SetUpName, { seen, took }: Turns): TurnCost {
  const { cpuMs, postgresMs, statements, bytes, loopMs } = took
  const late = seen.flatMap(({ lateMs }) => lateMs)
  const of = (all: number) => all / seen.length
  return {
    name,
    turns: seen.length,
    wallMs: median(seen.map(({ wallMs }) => wallMs)) ?? Number.NaN,
    cpuMs: of(cpuMs),
    postgresMs: postgresMs === undefined ? undefined : of(postgresMs),
    statements: of(statements),
    bytes: of(bytes),
    loopMs,
    firstMs: median(seen.flatMap(({ firstMs }) => firstMs ?? [])) ?? Number.NaN,
    lateMs: median(late) ?? Number.NaN,
    late99Ms: percentile(late, 0.99) ?? Number.NaN,
  }
}

/** The median of each figure over the rounds. */
function medians<Cost extends TurnCost>(costs: readonly Cost[]): readonly Cost[] {
  const keyOf = (one: Cost) => [one.name, one.turns, 'messages' in one && one.messages].join()
  const groups = new Map(costs.map((one) => [keyOf(one), costs.filter((other) => keyOf(other) === keyOf(one))]))
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (!first) return []
    const of = (figure: (cost: TurnCost) => number | undefined) => {
      return median([first, ...others].flatMap((cost) => figure(cost) ?? []))
    }
    return {
      ...first,
      wallMs: of(({ wallMs }) => wallMs) ?? Number.NaN,
      cpuMs: of(({ cpuMs }) => cpuMs) ?? Number.NaN,
      postgresMs: of(({ postgresMs }) => postgresMs),
      statements: of(({ statements }) => statements) ?? Number.NaN,
      bytes: of(({ bytes }) => bytes) ?? Number.NaN,
      loopMs: of(({ loopMs }) => loopMs) ?? Number.NaN,
      firstMs: of(({ firstMs }) => firstMs) ?? Number.NaN,
      lateMs: of(({ lateMs }) => lateMs) ?? Number.NaN,
      late99Ms: of(({ late99Ms }) => late99Ms) ?? Number.NaN,
    }
  })
}

let threads = 0

/** Returns the names of new threads. */
function threadsNamed(count: number): readonly string[] {
  return Array.from({ length: count }, () => `t${process.pid}-${++threads}`)
}
