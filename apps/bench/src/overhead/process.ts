/** A process that measures one part of core's own cost, sends its figures and ends. */

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { type Agent, createAgent, type Model, tool } from '@meanwhile/core'
import { z } from 'zod'
import type { Work } from './overhead.ts'
import type { Figures } from './table.ts'

const RUNS = 10_000
const AT_ONCE = 1_000
const ROUNDS = 5

const ASKS = respond(say(words(20)), call('look', { city: 'Turin', days: 3 }, { deltas: 5 }))
const ANSWERS = respond(say(words(25)))

const MODEL: Model = {
  provider: 'none',
  id: 'none',
  stream: (request) => scriptedModel([request.messages.length === 1 ? ASKS : ANSWERS]).stream(request),
}

const works: Readonly<Record<Work, () => Promise<Partial<Figures>>>> = {
  speed,
  held,
  growth,
  untraced: () => telemetry(false),
  traced: () => telemetry(true),
}

process.send?.(await works[process.argv[2] as Work]())
process.disconnect()

/** Its modules are loaded only here: the other measurements must run without an SDK. */
async function telemetry(sdk: boolean): Promise<Partial<Figures>> {
  const { shares } = await import('./share.ts')
  const { perSpan, perDelta } = await shares({ sdk })
  return sdk ? { deltaUs: perDelta } : { untracedSpanUs: perSpan, untracedDeltaUs: perDelta }
}

async function speed(): Promise<Partial<Figures>> {
  const agent = agentOf(() => 'ok')
  const runs = await rates(() => read(agent))
  const loops = await rates(readBare)
  return { runsPerSecond: runs.inTurn, atOnce: runs.together / runs.inTurn, bareAtOnce: loops.together / loops.inTurn }
}

/** Per second. The best of each: disturbances make a round slower, never faster. */
async function rates(one: () => Promise<void>): Promise<{ readonly inTurn: number; readonly together: number }> {
  const best = { inTurn: 0, together: 0 }
  await together(one, AT_ONCE)
  await inTurn(one, AT_ONCE)
  for (let round = 0; round < ROUNDS; round++) {
    best.inTurn = Math.max(best.inTurn, await perSecond(() => inTurn(one, AT_ONCE)))
    best.together = Math.max(best.together, await perSecond(() => together(one, AT_ONCE)))
  }
  return best
}

/** Runs that all wait in the middle of their tool, each with its reader. */
async function held(): Promise<Partial<Figures>> {
  const other = agentOf(() => 'ok')
  await inTurn(() => read(other), 200)
  let open = () => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  let waiting = 0
  const agent = agentOf(async () => {
    waiting++
    await gate
    return 'ok'
  })
  const before = await heap()
  const done = together(() => read(agent), RUNS)
  while (waiting < RUNS) await turn()
  const heldKiB = ((await heap()) - before) / RUNS / 1_024
  open()
  await done
  return { heldKiB }
}

async function growth(): Promise<Partial<Figures>> {
  const agent = agentOf(() => 'ok')
  const one = () => read(agent)
  await inTurn(one, AT_ONCE)
  await together(one, AT_ONCE)
  const before = await heap()
  for (let runs = 0; runs < RUNS; runs += AT_ONCE) await together(one, AT_ONCE)
  return { growthMb: ((await heap()) - before) / 1e6 }
}

/** Two steps, one tool, 50 deltas. */
function agentOf(execute: () => unknown): Agent {
  const input = z.object({ city: z.string(), days: z.number() })
  return createAgent({ model: MODEL, tools: [tool({ name: 'look', description: 'Looks.', input, execute })] })
}

function words(count: number): string {
  return Array.from({ length: count }, () => 'word').join(' ')
}

async function inTurn(one: () => Promise<void>, times: number): Promise<void> {
  for (let time = 0; time < times; time++) await one()
}

async function together(one: () => Promise<void>, times: number): Promise<void> {
  await Promise.all(Array.from({ length: times }, one))
}

/** With a reader, like an application. */
async function read(agent: Agent): Promise<void> {
  let deltas = 0
  for await (const event of agent.stream('How is the weather?')) if ('delta' in event) deltas++
  if (deltas !== 50) throw new Error(`${deltas} deltas`)
}

/** As many deltas, without core. */
async function readBare(): Promise<void> {
  for await (const delta of bare()) if (delta !== 'word ') throw new Error(delta)
}

async function* bare(): AsyncGenerator<string> {
  for (let delta = 0; delta < 50; delta++) yield 'word '
}

/** Per second of CPU time: other work on the machine does not count. */
async function perSecond(work: () => Promise<void>): Promise<number> {
  const start = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(start)
  return (AT_ONCE / (user + system)) * 1e6
}

/** Weakly held objects are collected between turns. */
async function heap(): Promise<number> {
  for (let time = 0; time < 5; time++) {
    globalThis.gc?.()
    await turn()
  }
  return process.memoryUsage().heapUsed
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
