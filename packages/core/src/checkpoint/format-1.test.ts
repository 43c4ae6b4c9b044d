import { readFile } from 'node:fs/promises'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import { difference } from '../../test/compare/difference.ts'
import { countRuns } from '../../test/counted-runs.ts'
import { toFormat1 } from '../../test/format-1.ts'
import { resumedTrace } from '../../test/reentrant-checkpoints.ts'
import { lives } from '../../test/reentrant-lives.ts'
import { Play } from '../../test/reentrant-play.ts'
import { type Scenario, scenarios } from '../../test/reentrant-scenario.ts'
import { StandingClock } from '../../test/standing-clock.ts'
import type { Checkpoint } from '../index.ts'
import { checkedCheckpoint } from './checkpoint.ts'

const clock = new StandingClock()

beforeEach(() => clock.install())

/** The checkpoints of the first two stops of a run. */
async function checkpointsOf(scenario: Scenario): Promise<Checkpoint[]> {
  clock.reset()
  const uncount = countRuns()
  const checkpoints: Checkpoint[] = []
  let stops = 0
  try {
    for await (const { result } of lives(new Play(scenario), scenario, clock)) {
      if (result?.checkpoint) checkpoints.push(result.checkpoint)
      if (++stops === 2) break
    }
  } finally {
    uncount()
  }
  return checkpoints
}

test('a run continues from a checkpoint of format 1 as from the same state in format 2 (MA19, L18)', async () => {
  let withCalls = 0
  await fc.assert(
    fc.asyncProperty(scenarios, async (scenario) => {
      for (const checkpoint of await checkpointsOf(scenario)) {
        const old = JSON.parse(JSON.stringify(toFormat1(checkpoint))) as Checkpoint
        expect(checkedCheckpoint(old)).toEqual(checkpoint)
        if (checkpoint.calls.length === 0) continue
        withCalls++
        const [one, other] = [
          await resumedTrace({ scenario, checkpoint }, clock),
          await resumedTrace({ scenario, checkpoint: old }, clock),
        ]
        expect(difference(one, other)).toBeUndefined()
      }
    }),
    propertyRuns({ small: 30, middle: 200, whole: 5_000 }),
  )
  expect(withCalls).toBeGreaterThan(5)
})

const FOLDER = new URL('../../test-data/checkpoints/', import.meta.url)

async function read(name: string): Promise<Checkpoint> {
  const pinned = JSON.parse(await readFile(new URL(name, FOLDER), 'utf8'))
  return checkedCheckpoint(pinned.checkpoint ?? pinned)
}

test('members that the first versions did not write have a default (L18)', async () => {
  expect(await read('format-1-interrupted.json')).toMatchObject({ undos: [], calls: [{ runs: [] }, { outcomes: [] }] })
  const [fails] = (await read('format-1-optional/outcomes.json')).calls
  expect(fails?.outcomes.map(({ invocation }) => invocation)).toEqual([{ n: 0 }, { n: 1 }])
  const [child] = (await read('format-1-optional/nested.json')).calls
  expect(child?.runs).toMatchObject([{ invocation: { n: 0 }, checkpoint: { format: 2, agent: 'child' } }])
})
