import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { programAt } from '@meanwhile/tests/programs'
import { sized } from '@meanwhile/tests/size'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { agentIn, type Deed } from '../../test/killed-process.ts'
import { type AgentResult, CheckpointMissingError, type Message } from '../index.ts'

// `kill -9` at any point of a run, and a resume: no call is made twice and none is lost.

const PROGRAM = programAt(new URL('../../test/killed-process.ts', import.meta.url))
const KILLS = sized({ small: 4, middle: 4, whole: 200 })

let scratch: string
let duration: number
let undisturbed: AgentResult
const children = new Set<ChildProcess>()

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'meanwhile-killed-'))
  const start = performance.now()
  undisturbed = await agentIn(scratch).run('Go')
  duration = performance.now() - start
  await rm(join(scratch, 'log'))
})

afterAll(async () => {
  await Promise.all([...children].map(kill))
  await rm(scratch, { recursive: true, force: true })
})

async function kill(child: ChildProcess): Promise<void> {
  children.delete(child)
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

/** Starts or resumes the run in a separate process, and kills it after this many milliseconds. Returns the run's id. */
async function killedRun(folder: string, after: number, resumed?: string): Promise<string> {
  const child = fork(PROGRAM, [folder, ...(resumed === undefined ? [] : [resumed])], {
    execArgv: ['--no-warnings'],
  })
  children.add(child)
  const [{ id }] = (await once(child, 'message')) as [{ id: string }]
  await new Promise((resolve) => setTimeout(resolve, after))
  await kill(child)
  return id
}

/** The messages with ids numbered by first occurrence, because an early call of a killed process has used an id. */
function transcript(messages: readonly Message[]): Message[] {
  const ids = messages.flatMap((message) =>
    message.role === 'assistant' ? message.content.flatMap((part) => (part.type === 'tool-call' ? [part.id] : [])) : [],
  )
  const text = JSON.stringify(messages, (key, value: unknown) =>
    (key === 'id' || key === 'callId') && typeof value === 'string' ? `call ${ids.indexOf(value)}` : value,
  )
  return JSON.parse(text) as Message[]
}

async function deedsIn(folder: string): Promise<Deed[]> {
  const log = await readFile(join(folder, 'log'), 'utf8').catch(() => '')
  return log
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Deed)
}

test(`killed ${KILLS} times at some point, a run resumes to the transcript it would have had, and makes no call twice (L20, L21, L15, H25, H26, H27)`, async () => {
  const spread = Array.from({ length: KILLS }, (_, index) => (index + Math.random()) / KILLS)
  let unknown = 0
  let reruns = 0
  for (const [round, part] of spread.entries()) {
    const folder = await mkdtemp(join(scratch, 'run-'))
    const id = await killedRun(folder, part * duration)
    // Every third run is killed again on its way.
    if (round % 3 === 2) await killedRun(folder, Math.random() * (1 - part) * duration, id)
    const resumed = agentIn(folder).resume(id)
    const events: string[] = []
    try {
      for await (const event of resumed) if (event.type === 'tool-start' && event.rerun) events.push(event.callId)
    } catch (error) {
      // Not even the first save was done, so nothing that waits for a save was done either.
      expect(error).toBeInstanceOf(CheckpointMissingError)
      expect((await deedsIn(folder)).filter(({ effect }) => effect !== 'read')).toEqual([])
      continue
    }
    const result = await resumed.result
    const deeds = await deedsIn(folder)
    const context = { round, part, id, deeds, result }

    const lost = result.unknown ?? []
    const messages = result.messages.filter(({ role }) => role === 'tool')
    const expected = transcript(undisturbed.messages)
    for (const [index, message] of transcript(result.messages).entries()) {
      const own = result.messages[index]
      if (own?.role !== 'tool' || !lost.includes(own.callId))
        expect({ message, context }).toEqual({ message: expected[index], context })
      else expect(message).toMatchObject({ role: 'tool', isError: true })
    }
    expect(result.messages).toHaveLength(expected.length)
    expect(messages).toHaveLength(10)

    const starts = deeds.filter(({ at }) => at === 'start')
    for (const { key, effect } of starts) {
      const times = starts.filter((deed) => deed.key === key)
      if (effect !== 'read') expect({ times: times.length, context }).toEqual({ times: 1, context })
      else
        expect(times.map(({ attempt }) => attempt)).toEqual(
          times.map(({ attempt }) => attempt).toSorted((a, b) => a - b),
        )
    }
    // The model reads what was done, or that the outcome is unknown.
    const done = new Set(deeds.filter(({ at }) => at === 'end').map(({ key }) => key)).size
    expect({ enough: done >= 10 - lost.length, context }).toEqual({ enough: true, context })
    unknown += lost.length
    reruns += events.length
  }
  console.log(`${KILLS} kills: ${unknown} calls unknown, ${reruns} reads made again`)
})
