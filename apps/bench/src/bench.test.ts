import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import type { Entry } from './cell.ts'
import { main } from './main.ts'

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

test('your own workload gets the same table and files, together with built-in scenarios', async () => {
  const folder = await temporary()
  const printed: string[] = []
  vi.spyOn(console, 'log').mockImplementation((text: string) => void printed.push(text))
  const [file, json, report] = ['a.json', 'results.json', 'report.html'].map((name) => join(folder, name))
  const workload = {
    title: 'Mine',
    speed: { firstTokenMs: 1, tokensPerSecond: 1_000 },
    tools: { look: { ms: 1, effect: 'read' } },
    turns: [[{ call: 'look', input: { at: 'this' } }, { say: 3 }], [{ say: 'Seen.' }]],
  }
  await writeFile(file ?? '', JSON.stringify(workload))
  const options = ['--workload', file, '--workload', file, '--wire', 'anthropic', '--runs', '1', '--transport', 'msw']
  expect(await main([...options, '--json', json, '--report', report].map(String))).toBe(0)

  const { results, remarks } = JSON.parse(await readFile(json ?? '', 'utf8')) as { results: Entry[]; remarks: string[] }
  // A workload with the name of a built-in scenario, or of another workload, gets a number.
  expect(results.map(({ scenario, mode }) => `${scenario} ${mode}`)).toEqual(
    ['a-2', 'a-3'].flatMap((id) => [`${id} sequential`, `${id} parallel`, `${id} eager`]),
  )
  expect(results.flatMap(({ failed }) => failed)).toEqual([])
  expect(remarks).toEqual([expect.stringContaining('the tools are stand-ins')])
  expect(printed.join('\n')).toContain('1 turn with calls: look 1 ms (read)')
  expect(await readFile(report ?? '', 'utf8')).toContain('<span class="id">a-2</span> Mine')
})

test('an invalid file ends with exit code 2 and one line', async () => {
  const error = vi.spyOn(console, 'error').mockReturnValue()
  const file = join(await temporary(), 'mine.json')
  await writeFile(file, '{"speed": 5}')
  expect(await main(['--workload', file])).toBe(2)
  expect(await main(['--replay', file])).toBe(2)
  expect(error.mock.calls).toEqual([
    [`error: ${file}: speed: expected object, received number (and 2 more)`],
    [`error: ${file}: this is not a recording: its format is not "meanwhile recording"`],
  ])
})

test('an invalid command line ends with exit code 2, and --help with 0', async () => {
  const error = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  const out = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  expect(await main(['--wire', 'gemini'])).toBe(2)
  expect(await main(['--help'])).toBe(0)
  expect(error).toHaveBeenCalledWith(expect.stringContaining('gemini'))
  expect(out).toHaveBeenCalledWith(expect.stringContaining('--scenario'))
})

async function temporary(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}
