import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CheckpointStore } from '@meanwhile/core'
import { programAt } from '@meanwhile/tests/programs'
import { sized } from '@meanwhile/tests/size'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Kind, numbered, type Order, type Report } from '../test/save-process.ts'
import { fileStore } from './file.ts'
import { sqliteStore } from './sqlite.ts'

const KILLS = sized({ small: 4, middle: 4, whole: 200 })

const PROGRAM = programAt(new URL('../test/save-process.ts', import.meta.url))

let scratch: string
const children = new Set<ChildProcess>()

beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'meanwhile-stores-'))
})

afterEach(async () => {
  await Promise.all([...children].map(kill))
  await rm(scratch, { recursive: true, force: true })
})

const pathOf = (kind: Kind): string => join(scratch, kind === 'file' ? 'checkpoints' : 'checkpoints.sqlite')

function opened(kind: Kind): { store: CheckpointStore; close(): void } {
  if (kind === 'file') return { store: fileStore(pathOf(kind)), close: () => {} }
  const store = sqliteStore(pathOf(kind))
  return { store, close: () => store.close() }
}

function start(kind: Kind): { child: ChildProcess; next(): Promise<Report>; tell(order: Order): void } {
  const child = fork(PROGRAM, [kind, pathOf(kind)], { execArgv: ['--no-warnings'] })
  children.add(child)
  const reports: Report[] = []
  let wake = (): void => {}
  child.on('message', (report: Report) => {
    reports.push(report)
    wake()
  })
  child.once('exit', () => {
    reports.push({ failed: 'the process has ended' })
    wake()
  })
  return {
    child,
    tell: (order) => child.send(order),
    async next() {
      for (;;) {
        const report = reports.shift()
        if (report && 'failed' in report) throw new Error(report.failed)
        if (report) return report
        await new Promise<void>((resolve) => (wake = resolve))
      }
    },
  }
}

async function kill(child: ChildProcess): Promise<void> {
  children.delete(child)
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

test.each<Kind>(['file', 'sqlite'])(
  '%s: if several processes save over one revision, one succeeds (L17)',
  async (kind) => {
    const rounds = 100
    const savers = [start(kind), start(kind), start(kind)]
    for (const saver of savers) expect(await saver.next()).toEqual({ ready: true })
    for (const saver of savers) saver.tell({ race: rounds })
    const reports = await Promise.all(savers.map((saver) => saver.next()))

    const won = reports.flatMap((report) => ('won' in report ? report.won : []))
    expect(won.toSorted((a, b) => a - b)).toEqual(Array.from({ length: rounds }, (_, index) => index + 1))
    const { store, close } = opened(kind)
    expect(await store.load('run')).toEqual({ runId: 'run', revision: rounds })
    close()
  },
)

test.each<Kind>(['file', 'sqlite'])('%s: a writer that is killed leaves the old or the new (L17)', async (kind) => {
  let last = 0
  for (let round = 0; round < KILLS; round++) {
    const writer = start(kind)
    await writer.next()
    writer.tell({ on: 'forever' })
    for (let saves = 0; saves <= round % 4; saves++) {
      const report = await writer.next()
      if ('saved' in report) last = report.saved
    }
    // Somewhere in the next save, never twice at the same place.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 3))
    await kill(writer.child)

    const { store, close } = opened(kind)
    const found = await store.load('run')
    const revision = typeof found === 'object' && found && 'revision' in found ? Number(found.revision) : 0
    expect(revision).toBeGreaterThanOrEqual(last)
    expect(found).toEqual(numbered(revision))
    await store.save('run', numbered(revision + 1), revision)
    last = revision + 1
    close()
  }

  const { store, close } = opened(kind)
  expect(await store.prune({ olderThan: Date.now() + 60_000 })).toBe(1)
  expect(await store.load('run')).toBeUndefined()
  close()
  if (kind === 'file') expect(await readdir(pathOf(kind))).toEqual([])
})
