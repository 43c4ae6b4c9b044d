import { CommanderError } from 'commander'
import { expect, test } from 'vitest'
import { parseOptions } from './cli.ts'

const API = 'https://api.openai.com'

test('without options the bench measures a, b, c and f on every wire in every mode', () => {
  expect(parseOptions([])).toEqual({
    scenarios: ['a', 'b', 'c', 'f'],
    workloads: [],
    wires: ['openai-chat', 'openai-responses', 'anthropic'],
    modes: ['sequential', 'parallel', 'eager'],
    runs: { sequential: 1, parallel: 3, eager: 3, floor: 1 },
    transport: 'server',
    faults: true,
    json: 'results.json',
    report: 'report.html',
  })
})

test('lists are taken in the usual order, each name once, and d means all three sizes', () => {
  const line = '--scenario f,d,a,a --wire anthropic,openai-chat --mode eager'
  const { scenarios, wires, modes } = parseOptions(line.split(' '))
  expect(scenarios).toEqual(['a', 'd50', 'd100', 'd200', 'f'])
  expect(wires).toEqual(['openai-chat', 'anthropic'])
  expect(modes).toEqual(['eager'])
})

test('--full measures every scenario with more runs, and --runs and --scenario still apply', () => {
  expect(parseOptions(['--full'])).toMatchObject({
    scenarios: ['a', 'b', 'c', 'd50', 'd100', 'd200', 'e', 'f', 'g'],
    runs: { sequential: 7, parallel: 7, eager: 7, floor: 7 },
  })
  expect(parseOptions(['--full', '--runs', '2', '--scenario', 'e'])).toMatchObject({
    scenarios: ['e'],
    runs: { sequential: 2, parallel: 2, eager: 2, floor: 2 },
  })
})

test('the bare loop runs where CPU time counts, and where it is requested', () => {
  expect(parseOptions(['--scenario', 'f']).modes).not.toContain('floor')
  expect(parseOptions(['--scenario', 'f', '--mode', 'floor']).modes).toEqual(['floor'])
  expect(parseOptions(['--scenario', 'd']).modes).toContain('floor')
  expect(parseOptions(['--full']).modes).toContain('floor')
})

test('the fault matrix runs with the usual scenarios by default, by itself with --faults, and not at all if scenarios are named', () => {
  expect(parseOptions([])).toMatchObject({ scenarios: ['a', 'b', 'c', 'f'], faults: true })
  expect(parseOptions(['--faults'])).toMatchObject({ scenarios: [], faults: true })
  expect(parseOptions(['--scenario', 'f'])).toMatchObject({ scenarios: ['f'], faults: false })
  expect(parseOptions(['--scenario', 'f', '--faults'])).toMatchObject({ scenarios: ['f'], faults: true })
  expect(parseOptions(['--faults'])).not.toHaveProperty('loops')
  expect(parseOptions(['--faults', '--loops'])).toMatchObject({ scenarios: [], faults: true, loops: true })
})

test('with only the fault matrix, the named files are written, and the files of a measured run are not', () => {
  expect(parseOptions(['--faults'])).not.toMatchObject({ json: expect.anything() })
  expect(parseOptions(['--faults'])).not.toMatchObject({ report: expect.anything() })
  expect(parseOptions(['--faults', '--report', 'faults.html'])).toMatchObject({ report: 'faults.html' })
  expect(parseOptions(['--faults', '--report', 'faults.html'])).not.toMatchObject({ json: expect.anything() })
  expect(parseOptions(['--faults', '--scenario', 'f'])).toMatchObject({ json: 'results.json', report: 'report.html' })
})

test('--otlp without an address means the usual collector', () => {
  expect(parseOptions(['--otlp']).otlp).toBe('http://localhost:4318')
  expect(parseOptions(['--otlp', 'http://10.0.0.1:4318']).otlp).toBe('http://10.0.0.1:4318')
})

test('--traces names the file for Jaeger’s page', () => {
  expect(parseOptions(['--scenario', 'b', '--traces', 'traces.json']).traces).toBe('traces.json')
  expect(parseOptions([])).not.toHaveProperty('traces')
})

test.each([['--otlp'], ['--traces', 'traces.json'], ['--devtools']])(
  '%s is refused with --faults, because the fault matrix has no spans',
  (...option) => {
    const { error, written } = failureOf(['--faults', ...option])
    expect(error.exitCode).toBe(1)
    expect(written).toContain('name a --scenario')
    expect(parseOptions(['--faults', '--scenario', 'f', ...option])).toMatchObject({ faults: true, scenarios: ['f'] })
  },
)

test('a workload or a replay is measured by itself, or together with scenarios that are named', () => {
  const file = import.meta.filename
  expect(parseOptions(['--workload', file, '--workload', file])).toMatchObject({
    scenarios: [],
    workloads: [file, file],
    faults: false,
    json: 'results.json',
  })
  expect(parseOptions(['--replay', file, '--tool', 'a=5', '--tool', 'b=1.5:read', '--scenario', 'f'])).toMatchObject({
    scenarios: ['f'],
    faults: false,
    replay: {
      file,
      tools: [
        ['a', { ms: 5, effect: 'external' }],
        ['b', { ms: 1.5, effect: 'read' }],
      ],
    },
  })
})

test('--peers without a folder looks in the current one, and measures the usual scenarios without the fault matrix', () => {
  expect(parseOptions(['--peers'])).toMatchObject({ peers: '.', scenarios: ['a', 'b', 'c', 'f'], faults: false })
  expect(parseOptions(['--peers', '..'])).toMatchObject({ peers: '..' })
  expect(parseOptions(['--peers', '--faults'])).toMatchObject({ scenarios: ['a', 'b', 'c', 'f'], faults: true })
  expect(parseOptions(['--peers', '--workload', import.meta.filename])).toMatchObject({ scenarios: [], peers: '.' })
})

test('--base-url names a real endpoint, and nothing else is measured', () => {
  const line = ['--base-url', API, '--model', 'gpt', '--key-env', 'KEY', '--wire', 'openai-chat']
  expect(parseOptions(line)).toMatchObject({
    scenarios: [],
    faults: false,
    wires: ['openai-chat'],
    live: { url: API, model: 'gpt', keyEnv: 'KEY' },
    report: 'report.html',
  })
})

test('--record writes a recording, to a file that may be named, and no results', () => {
  expect(parseOptions(['--record', API])).toMatchObject({ record: { upstream: API, file: 'recording.json' } })
  expect(parseOptions(['--record', API])).not.toHaveProperty('json')
  expect(parseOptions(['--record', API, '--recording', 'a.json'])).toMatchObject({ record: { file: 'a.json' } })
})

test('--overhead measures the cost of core itself', () => {
  expect(parseOptions(['--overhead'])).toMatchObject({ overhead: true })
  // It writes none.
  expect(parseOptions(['--overhead', '--json', 'report.html'])).toMatchObject({ overhead: true })
})

test('--against names the folder of an older core', () => {
  expect(parseOptions(['--overhead', '--against', '.'])).toMatchObject({ overhead: true, against: '.' })
  expect(parseOptions(['--overhead'])).not.toHaveProperty('against')
})

test('--threads measures only the cost of a thread', () => {
  expect(parseOptions(['--threads'])).toMatchObject({ threads: { runs: 15 } })
  expect(parseOptions(['--threads', '--runs', '2'])).toMatchObject({ threads: { runs: 2 } })
  expect(parseOptions([])).not.toHaveProperty('threads')
})

test('--saves counts only the saves of a step', () => {
  expect(parseOptions(['--saves'])).toMatchObject({ saves: { runs: 3 } })
  expect(parseOptions(['--saves', '--runs', '1'])).toMatchObject({ saves: { runs: 1 } })
  expect(parseOptions([])).not.toHaveProperty('saves')
})

test('--pictures measures only what the pictures show, and writes no other file', () => {
  const options = parseOptions(['--pictures', 'docs/pictures'])
  expect(options).toMatchObject({ pictures: { folder: 'docs/pictures', runs: 7 } })
  expect(parseOptions(['--pictures', '.', '--runs', '1'])).toMatchObject({ pictures: { folder: '.', runs: 1 } })
  expect(parseOptions([])).not.toHaveProperty('pictures')
})

test('--durable measures only the cost of a durable run', () => {
  expect(parseOptions(['--durable'])).toMatchObject({ durable: { runs: 20 } })
  expect(parseOptions(['--durable', '--runs', '1'])).toMatchObject({ durable: { runs: 1 } })
  expect(parseOptions([])).not.toHaveProperty('durable')
})

test('a device takes both the results and the report', () => {
  const nowhere = { json: '/dev/null', report: '/dev/null' }
  expect(parseOptions(['--json', nowhere.json, '--report', nowhere.report])).toMatchObject(nowhere)
})

test.each([
  [['--scenario', 'a,z'], 'Unknown: z. Known are a, b, c, d50, d100, d200, e, f, g.'],
  [['--wire', 'gemini'], 'Unknown: gemini. Known are openai-chat, openai-responses, anthropic.'],
  [['--mode', 'lazy'], 'Unknown: lazy. Known are sequential, parallel, eager, floor.'],
  [['--transport', 'pigeon'], 'Unknown: pigeon. Known are server, msw.'],
  [['--runs', '0'], 'The value must be an integer from 1.'],
  [['--otlp', 'nowhere'], 'The value must be a URL'],
  [['--json', 'no-such-folder/results.json'], 'The folder no-such-folder does not exist.'],
  [['--traces', 'no-such-folder/traces.json'], 'The folder no-such-folder does not exist.'],
  [['--speed', '9'], "unknown option '--speed'"],
  [['fast'], 'too many arguments'],
  [['--workload', 'no-such.json'], 'no-such.json does not exist.'],
  [['--replay', 'no-such.json'], 'no-such.json does not exist.'],
  [['--peers', 'no-such-folder'], 'no-such-folder does not exist.'],
  [['--tool', 'search=fast'], 'The value must be a name, milliseconds and one of read,'],
  [['--tool', 'search=40:harmless'], 'The value must be a name, milliseconds and one of read,'],
  [['--overhead', '--against', 'no-such-folder'], 'no-such-folder does not exist.'],
  [['--overhead', '--against'], "option '--against <folder>' argument missing"],
  [['--against', '.'], '--against needs --overhead'],
  [['--tool', 'search=40'], '--tool needs --replay'],
  [['--record', 'nowhere'], 'The value must be a URL'],
  [['--record', API, '--runs', '3'], "cannot be used with option '--runs <n>'"],
  [['--recording', 'x.json'], '--recording needs --record'],
  [['--json', 'report.html'], 'two things would be written to'],
  [['--json', './x.otlp.json', '--scenario', 'a', '--traces', 'x.json'], 'two things would be written to'],
  [['--base-url', API, '--wire', 'anthropic'], '--base-url needs a --model'],
  [['--base-url', API, '--model', 'gpt'], '--base-url needs one --wire, of openai-chat,'],
  [['--base-url', API, '--model', 'gpt', '--wire', 'anthropic', '--scenario', 'a'], 'cannot be used with option'],
  [
    ['--base-url', API, '--model', 'gpt', '--wire', 'anthropic', '--mode', 'floor'],
    '--base-url only runs agents: the --mode floor is not an agent',
  ],
  [['--model', 'gpt'], '--model and --key-env need --base-url'],
  [['--peers', '--transport', 'msw'], '--peers and --drop-ins need --transport server'],
  [['--drop-ins', '--transport', 'msw'], '--peers and --drop-ins need --transport server'],
  [['--drop-ins', '--scenario', 'd50,f'], '--drop-ins measures only paced scenarios: not d or e'],
  [['--markdown', 'table.md'], '--markdown needs --drop-ins or --loops'],
  [['--loops'], '--loops needs --faults'],
  [['--drop-ins', '--markdown', 'report.html'], 'two things would be written to'],
  [['--drop-ins', '--peers'], "option '--drop-ins' cannot be used with option '--peers [folder]'"],
  [['--threads', '--scenario', 'f'], "option '--threads' cannot be used with option '--scenario <ids>'"],
  [['--threads', '--json', 'x.json'], "option '--threads' cannot be used with option '--json <file>'"],
  [['--saves', '--scenario', 'f'], "option '--saves' cannot be used with option '--scenario <ids>'"],
  [
    ['--pictures', '.', '--wire', 'anthropic'],
    "option '--pictures <folder>' cannot be used with option '--wire <names>'",
  ],
  [['--durable', '--full'], "option '--durable' cannot be used with option '--full'"],
  [['--durable', '--report', 'x.html'], "option '--durable' cannot be used with option '--report <file>'"],
  [['--drop-ins', '--mode', 'eager'], "option '--drop-ins' cannot be used with option '--mode <names>'"],
])('%j is an error that lists what is possible', (args, message) => {
  const { error, written } = failureOf(args)
  expect(error.exitCode).not.toBe(0)
  expect(written).toContain(message)
})

test('--drop-ins measures b and f seven times, without our own modes, and writes the usual files', () => {
  expect(parseOptions(['--drop-ins'])).toEqual({
    scenarios: ['b', 'f'],
    workloads: [],
    wires: ['openai-chat', 'openai-responses', 'anthropic'],
    modes: [],
    runs: { sequential: 7, parallel: 7, eager: 7, floor: 7 },
    transport: 'server',
    faults: false,
    dropIns: true,
    json: 'results.json',
    report: 'report.html',
  })
  const short = '--drop-ins --runs 1 --scenario f --wire openai-chat'
  expect(parseOptions(short.split(' '))).toMatchObject({
    scenarios: ['f'],
    wires: ['openai-chat'],
    runs: { parallel: 1 },
  })
})

test('--help names every option and scenario', () => {
  const { error, written } = failureOf(['--help'])
  expect(error.exitCode).toBe(0)
  const options = [
    'scenario',
    'wire',
    'mode',
    'runs',
    'transport',
    'json',
    'report',
    'otlp',
    'traces',
    'devtools',
    'full',
    'faults',
    'overhead',
    'against',
    'workload',
    'replay',
    'tool',
    'peers',
    'drop-ins',
    'threads',
    'durable',
    'saves',
    'pictures',
    'base-url',
    'model',
    'key-env',
    'record',
    'recording',
  ]
  for (const option of options) expect(written).toContain(`--${option}`)
  for (const title of ['Three calls of equal length', 'A slow call first', '200 KB of arguments'])
    expect(written).toContain(title)
})

function failureOf(args: readonly string[]): { error: CommanderError; written: string } {
  let written = ''
  const write = (text: string) => {
    written += text
  }
  try {
    parseOptions(args, { writeOut: write, writeErr: write })
  } catch (error) {
    if (error instanceof CommanderError) return { error, written }
    throw error
  }
  throw new Error(`${args.join(' ')} was taken`)
}
