import fc from 'fast-check'
import { test, vi } from 'vitest'
import { accounts } from '../test/accounts.ts'
import { scenarios } from '../test/scenario.ts'
import { trial } from '../test/trial.ts'
test('stats', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
  const c: Record<string, number> = {}
  const add = (k: string, n = 1) => { c[k] = (c[k] ?? 0) + n }
  for (const s of fc.sample(scenarios, { numRuns: 1500, seed: 5 })) {
    const t = await trial(s, true)
    add(t.result ? 'ok' : `error ${(t.error as Error).name}`)
    let early = 0
    for (const e of t.events) {
      if (e.type === 'tool-start' && e.provisional) { early++; add('early') }
      if (e.type === 'tool-start' && !e.provisional) add('late')
      if (e.type === 'tool-discarded') add(`discard ${e.cause}`)
      if (e.type === 'tool-committed') add(e.startedAs ? 'joined' : 'committed')
      if (e.type === 'tool-end' && e.message.isError) add('errors')
    }
    if (early) add('runs with early')
    add('undone', t.undone.length)
    add('steps', t.result?.steps ?? 0)
    add('extra', accounts(t.events).discarded.length)
    for (const x of t.executions) add(`exec ${x.effect}`)
  }
  console.log(c)
}, 600000)
