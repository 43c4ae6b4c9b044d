import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { main } from './main.ts'
import type { Entry } from './results.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

test('a run from the command line prints a table and writes results and report', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'bench-'))
  const printed: string[] = []
  vi.spyOn(console, 'log').mockImplementation((text: string) => void printed.push(text))
  try {
    const json = join(folder, 'results.json')
    const report = join(folder, 'report.html')
    const options = [
      '--scenario',
      'd50',
      '--wire',
      'anthropic',
      '--runs',
      '1',
      '--transport',
      'msw',
      '--json',
      json,
      '--report',
      report,
    ]
    expect(await main(options)).toBe(0)

    const { results, ...about } = JSON.parse(await readFile(json, 'utf8')) as { results: Entry[] }
    expect(results.map(({ scenario, wire, mode }) => `${scenario} ${wire} ${mode}`)).toEqual(
      ['sequential', 'parallel', 'eager', 'floor'].map((mode) => `d50 anthropic ${mode}`),
    )
    const number: unknown = expect.any(Number)
    for (const entry of results) {
      expect(entry).toMatchObject({
        runs: 1,
        wallMs: number,
        boundMs: number,
        ratioToBound: number,
        savedMs: number,
        dispatchLagMs: { p50: number, p99: number, max: number },
        failed: [],
      })
    }
    expect(about).toMatchObject({
      node: process.versions.node,
      clients: { openai: expect.any(String), '@anthropic-ai/sdk': expect.any(String) },
      cpu: { model: expect.any(String), count: number },
      loadAverage: [number, number, number],
      date: expect.any(String),
      options: { transport: 'msw' },
      transportLagMs: { p50: number, max: number },
      peakRssMb: number,
      bars: [{ title: 'CPU at most 2 × the bare loop’s', limit: 2, worst: number, where: 'd50 anthropic' }],
    })

    expect(printed.join('\n')).toContain('50 KB of arguments')
    expect(await readFile(report, 'utf8')).toContain('<h2 id="timelines">')
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('a command line that is not understood is exit code 2, and --help is 0', async () => {
  const error = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  const out = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  expect(await main(['--wire', 'gemini'])).toBe(2)
  expect(await main(['--help'])).toBe(0)
  expect(error).toHaveBeenCalledWith(expect.stringContaining('gemini'))
  expect(out).toHaveBeenCalledWith(expect.stringContaining('--scenario'))
})
