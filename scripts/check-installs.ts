// Follows the pages as a new user does: runs the install lines of each README and page in an empty folder, with the oldest supported Node and
// with the Node of this repository, compiles the programs of the page, and runs them against a stand-in model. It also compiles the examples to which
// the page links, if what it installs is all that they need. Names of pages check only these:
// npm run check:installs -- docs/start.md
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, parse } from 'node:path'
import { text } from 'node:stream/consumers'
import { type Program, packagesOf, pageOf, withTarballs } from './installs/pages.ts'
import { installNodes, type Node } from './packages/nodes.ts'
import { failures, output, step } from './packages/step.ts'
import type { Manifest } from './packages/workspace.ts'
import { serveStandIn } from './stand-in-model.ts'

const PAGES = ['README.md', 'packages/*/README.md', 'docs/*.md', 'docs/{examples,migration,middleware,packages}/*.md']

/** What programs need besides what their page installs: a compiler, and the types of Node and React. */
const TOOLS = ['typescript@5.9.3', '@types/node@22', '@types/react@19']

const COMPILER_OPTIONS = {
  module: 'nodenext',
  target: 'es2022',
  jsx: 'react-jsx',
  strict: true,
  skipLibCheck: true,
  noEmit: true,
}

/** The longest that a command may take, in milliseconds. */
const TIME = 600_000

interface Bench {
  /** The tarballs, under the name `meanwhile`, as pages have them. */
  readonly folder: string
  readonly tarballs: ReadonlyMap<string, readonly string[]>
  /** The address of the stand-in model. */
  readonly model: string
}

async function checkPage(page: string, node: Node, { folder, tarballs, model }: Bench): Promise<void> {
  const { installs, programs, examples } = pageOf(readFileSync(page, 'utf8'))
  const project = join(folder, `${page.replaceAll('/', '-')} on ${node.version}`.replaceAll(' ', '-'))
  await mkdir(project)
  await writeFile(join(project, 'package.json'), '{ "private": true, "type": "module" }\n')
  await symlink(join(folder, 'meanwhile'), join(project, 'meanwhile'))
  const env = {
    ...process.env,
    PATH: [dirname(node.path), process.env.PATH].join(delimiter),
    OPENAI_API_KEY: 'a',
    OPENAI_BASE_URL: `${model}/v1`,
    ANTHROPIC_API_KEY: 'a',
    ANTHROPIC_BASE_URL: model,
  }
  const run = (line: string) => succeeds('bash', ['-c', line], project, env)
  const on = `${page}, Node ${node.version}`
  for (const line of installs) {
    const done = await step(`${on}: ${line}`, () => run(`${withTarballs(line, tarballs)} --no-audit --no-fund`))
    if (done === undefined) return
  }
  await step(`${on}: a compiler`, () => run(`npm install --no-save --no-audit --no-fund ${TOOLS.join(' ')}`))
  const isInstalled = (name: string) => existsSync(join(project, 'node_modules', name, 'package.json'))
  for (const program of programs) {
    const isCompiled = await compiles(program, on, project, run)
    if (isCompiled && program.kind === 'ts') await runs(program, on, run)
  }
  for (const path of examples) {
    const code = readFileSync(path, 'utf8')
    const { name, ext } = parse(path)
    const kind = ext === '.tsx' ? 'tsx' : 'ts'
    if (packagesOf(code).every(isInstalled)) await compiles({ code, kind, name }, on, project, run)
  }
}

type Run = (line: string) => Promise<string>

async function compiles({ code, kind, name }: Program, on: string, project: string, run: Run): Promise<boolean> {
  const file = `${name}.${kind}`
  await writeFile(join(project, file), code)
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions: COMPILER_OPTIONS, files: [file] }))
  const output = await step(`${on}: the program ${file} compiles`, () => run('node node_modules/typescript/bin/tsc'))
  return output !== undefined
}

/** Runs the program that was compiled last. */
async function runs({ kind, name }: Program, on: string, run: Run): Promise<void> {
  await step(`${on}: the program ${name}.${kind} runs`, async () => {
    await run('node node_modules/typescript/bin/tsc --noEmit false')
    return await run(`node ${name}.js`)
  })
}

/** Runs a command and returns its output. Throws the output if the command fails or takes too long. */
async function succeeds(name: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  const child = spawn(name, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: TIME })
  const [out, errors, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  if (code !== 0) throw new Error(`${signal ?? `exit code ${code}`}\n${out}${errors}`.trim())
  return out
}

/** By the name of a package: its tarball, and those of our packages on which it depends. */
async function packed(into: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const own = new Map<string, string>()
  const needed = new Map<string, readonly string[]>()
  for (const file of globSync('packages/*/package.json')) {
    const printed = await output('npm', ['pack', '--json', '--pack-destination', into, `./${dirname(file)}`])
    const [{ name, filename }] = JSON.parse(printed) as [{ name: string; filename: string }]
    const { dependencies = {} } = JSON.parse(readFileSync(file, 'utf8')) as Manifest
    own.set(name, join(into, filename))
    needed.set(name, [name, ...Object.keys(dependencies)])
  }
  const tarballsOf = (names: readonly string[]) => names.flatMap((name) => own.get(name) ?? [])
  return new Map([...needed].map(([name, names]) => [name, tarballsOf(names)]))
}

const asked = process.argv.slice(2)
const pages = PAGES.flatMap((pattern) => globSync(pattern))
  .filter((page) => (asked.length > 0 ? asked.includes(page) : pageOf(readFileSync(page, 'utf8')).installs.length > 0))
  .sort()
const folder = await mkdtemp(join(tmpdir(), 'meanwhile-installs-'))
const model = await serveStandIn()
try {
  await mkdir(join(folder, 'meanwhile'))
  const tarballs = await packed(join(folder, 'meanwhile'))
  const require = createRequire(import.meta.url)
  const manifest: Manifest = require('../packages/core/package.json')
  const nodes = await installNodes(join(folder, 'nodes'), [manifest])
  for (const page of pages)
    for (const node of nodes) await checkPage(page, node, { folder, tarballs, model: model.url })
} finally {
  await model.close()
  await rm(folder, { recursive: true, force: true })
}
if (failures.length > 0) {
  console.error(`\nFailed:\n${failures.map((what) => `  ${what}`).join('\n')}`)
  process.exitCode = 1
}
