import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { fileOf } from '../test/recorded.ts'
import type { RunList } from './server/api.ts'

const PROGRAM = join(import.meta.dirname, 'devtools-process.ts')

function command(...args: readonly string[]) {
  const child = spawn(process.execPath, ['--conditions=@meanwhile/source', PROGRAM, ...args])
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  const ended = once(child, 'close')
  return { child, ended, output: () => output }
}

test('the command prints its address and the two lines to paste, shows files, and ends by Ctrl-C (DT7)', async () => {
  // The page is built by another command.
  const page = join(import.meta.dirname, '../dist/page')
  await mkdir(page, { recursive: true })
  for (const name of ['index.html', 'page.js', 'page.css', 'icon.svg'])
    await writeFile(join(page, name), '', { flag: 'a' })
  const { child, ended, output } = command('--port', '0', fileOf('trip'))
  while (!output().includes('CAPTURE')) await once(child.stdout, 'data')
  const url = /http:\/\/localhost:\d+/.exec(output())?.[0] ?? ''
  expect(output()).toContain(`export OTEL_EXPORTER_OTLP_ENDPOINT=${url}\n`)
  expect(output()).not.toContain('Lisbon')
  const { runs } = (await (await fetch(`${url}/api/runs`)).json()) as RunList
  expect(runs.map(({ agent }) => agent)).toEqual(['trip_planner'])
  child.kill('SIGINT')
  expect(await ended).toEqual([0, null])
})

test('wrong options are an error with the help, and --help is none (DT7)', async () => {
  const cases = [
    [['--help'], 0, 'Shows the runs of agents'],
    [['--port', 'x'], 2, '--port must be a number from 0 to 65535, not x'],
    [['--allow-origin', 'x'], 2, '--allow-origin must be an address'],
    [['--host', '0.0.0.0'], 2, "Unknown option '--host'"],
    [['--port', '0', 'nothing.json'], 1, 'ENOENT'],
  ] as const
  for (const [args, code, words] of cases) {
    const { ended, output } = command(...args)
    expect(await ended).toEqual([code, null])
    expect(output()).toContain(words)
  }
})
