import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { showInDevtools } from './devtools.ts'

const SPANS = join(import.meta.dirname, '../../../packages/devtools/test-data/bench-f.json')

test('the measured runs are shown in the devtools until the bench is stopped', async () => {
  const stop = new AbortController()
  const log = vi.spyOn(console, 'log')
  const address = new Promise<string>((resolve) => {
    log.mockImplementation((text: string) => resolve(/http:\S+/.exec(text)?.[0] ?? ''))
  })
  try {
    const shown = showInDevtools(await readFile(SPANS, 'utf8'), stop.signal)
    const url = await address
    const { runs } = (await (await fetch(`${url}/api/runs`)).json()) as { readonly runs: readonly { agent: string }[] }
    expect(new Set(runs.map(({ agent }) => agent))).toEqual(new Set(['bench-f', 'bench-b', 'bench-d200']))
    stop.abort()
    await shown
    await expect(fetch(url)).rejects.toThrow('fetch failed')
  } finally {
    log.mockRestore()
  }
})
