import { unhandledRejections } from '@meanwhile/tests/rejections'
import { byTurns, everyNth, sized } from '@meanwhile/tests/size'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { OPTIONS, type OptionName } from '../../test/sdk-options.ts'
import { bothWays, type Choice, HOSTS, type HostName, isKnownLate, runsOf, seen, WAYS } from '../../test/sdk-trial.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** Each value of each option, in each way (small runs have every seventh of these rows), with this many of the loops: each way meets each loop. */
const loops = sized({ small: 1, middle: 1, whole: HOSTS.length })

const all = (Object.keys(OPTIONS) as OptionName[])
  .flatMap((name) => [...OPTIONS[name].keys()].map((nth) => ({ name, nth })))
  .flatMap((value, index) =>
    WAYS.flatMap((way, place) =>
      HOSTS.map((_, turn) => HOSTS[(index + place + turn) % HOSTS.length] ?? HOSTS[0])
        .slice(0, loops)
        .map((host) => ({ host, choice: { ...value, way } })),
    ),
  )
const rows = everyNth(all, 7)

test.for(HOSTS)(
  'each option of %s, given, added or in the call, does what it does without eager() (W46, W47, W48)',
  async (host) => {
    const mine = rows.filter((row) => row.host === host)
    expect(mine.length).toBeGreaterThan(5)
    for (const { choice } of mine) {
      const { plain, eager } = await bothWays({ host, choices: [choice], settings: { alwaysStream: true } })
      const isLate = isKnownLate(host, choice)
      const row = `${choice.name} ${choice.nth} ${choice.way}`
      expect({ row, ...seen(eager) }).toEqual({ row, ...seen(plain) })
      for (const one of isLate ? ['send'] : ['look', 'put', 'send'])
        expect([row, runsOf(eager, one)]).toEqual([row, runsOf(plain, one)])
      if (!isLate) expect([row, eager.undone]).toEqual([row, []])
      // A call of each tool has run early for nothing, and then none.
      if (isLate) expect(eager.executed.length - plain.executed.length).toBeLessThanOrEqual(2)
    }
  },
)

test('the table has calls that start early, in each way (R2)', async () => {
  const early = async (host: HostName, choices: readonly Choice[]) => {
    const started: number[] = []
    const onStep = ({ calls }: { readonly calls: readonly unknown[] }) => void started.push(calls.length)
    await bothWays({ host, choices, settings: { alwaysStream: true, onStep } })
    return started
  }
  for (const [place, host] of HOSTS.entries())
    for (const way of byTurns(WAYS, { small: 1, middle: 1, whole: WAYS.length }, place))
      expect([host, way, await early(host, [{ name: 'temperature', nth: 0, way }])]).toEqual([host, way, [2, 1]])
})
