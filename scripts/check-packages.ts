// What a user gets: packs every package, checks the tarballs, installs them together into an empty project and imports
// every entry there, on the Node of this repository and, where `engines` allows, on the Node that npm itself runs on. In another
// project core runs beside an SDK 2 of OpenTelemetry, which takes API 1.9 alone.
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import semver from 'semver'

interface Manifest {
  name: string
  engines: { node: string }
  exports: Record<string, string | Record<string, string>>
}

const failures: string[] = []

/** Runs a command; what it prints stays quiet unless it fails. */
function run(what: string, command: string, args: readonly string[], cwd: string = process.cwd()): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  const ok = status === 0
  console.log(`${ok ? '✓' : '✗'} ${what}`)
  if (!ok) {
    failures.push(what)
    console.log(`${stdout}${stderr}${error?.message ?? ''}`.trim())
  }
  return stdout
}

const packages = readdirSync('packages').map((name) => {
  const folder = join('packages', name)
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  const entries = Object.keys(manifest.exports)
    .filter((path) => path !== './package.json')
    .map((path) => manifest.name + path.slice(1))
  return { folder, manifest, entries }
})

/** The Node of this repository, and the one that npm itself runs on, by version. */
const nodes = [...new Set([process.execPath, process.env.npm_node_execpath ?? process.execPath])].map((path) => ({
  path,
  version: run(`node at ${path === process.execPath ? 'node_modules' : 'npm'}`, path, ['--version']).trim(),
}))

/** The packed core with SDK 2, on each Node that core is for. */
function checkOldTelemetry(project: string, tarball: string, engines: string): void {
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }')
  copyFileSync('scripts/otel-2-app.mjs', join(project, 'app.mjs'))
  const old = ['@opentelemetry/api@1.9.1', '@opentelemetry/sdk-trace@2.12.1']
  const install = ['install', '--prefix', project, '--no-audit', '--no-fund', tarball, ...old]
  run(`install core with ${old.join(' and ')}`, 'npm', install, project)
  for (const { path, version } of nodes.filter(({ version }) => semver.satisfies(version, engines))) {
    run(`spans of core with them on Node ${version}`, path, ['app.mjs'], project)
  }
}

run('types of core with @opentelemetry/api 1.9', 'tsc', ['-p', 'packages/core/tsconfig.api-1.9.json'])

const project = mkdtempSync(join(tmpdir(), 'meanwhile-packages-'))
try {
  const tarballs = packages.map(({ folder, manifest }) => {
    const packed = run(`${manifest.name}: pack`, 'npm', [
      'pack',
      '--json',
      '--pack-destination',
      project,
      `./${folder}`,
    ])
    const [{ filename }] = JSON.parse(packed) as [{ filename: string }]
    const tarball = join(project, filename)
    run(`${manifest.name}: publint`, 'publint', ['run', tarball, '--strict'])
    run(`${manifest.name}: are the types wrong`, 'attw', [tarball, '--profile', 'esm-only'])
    return tarball
  })

  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }')
  run(
    'install all into an empty project',
    'npm',
    ['install', '--prefix', project, '--no-audit', '--no-fund', ...tarballs],
    project,
  )

  for (const { path: node, version } of nodes) {
    for (const { manifest, entries } of packages) {
      if (!semver.satisfies(version, manifest.engines.node)) {
        console.log(`- ${manifest.name}: not for Node ${version} (${manifest.engines.node})`)
        continue
      }
      for (const entry of entries) {
        const check = `const names = Object.keys(await import('${entry}')); if (names.length === 0) throw new Error('exports nothing')`
        run(`import ${entry} on Node ${version}`, node, ['--input-type=module', '--eval', check], project)
      }
    }
  }

  const serve = `import { spawnModelServer } from '@meanwhile/harness/server'; await (await spawnModelServer()).close()`
  writeFileSync(join(project, 'serve.js'), serve)
  run('serve models from a process of its own', process.execPath, ['serve.js'], project)

  const core = packages.findIndex(({ manifest }) => manifest.name === '@meanwhile/core')
  const { manifest } = packages[core] ?? {}
  const tarball = tarballs[core]
  if (!manifest || !tarball) throw new Error('there is no core')
  checkOldTelemetry(join(project, 'old-telemetry'), tarball, manifest.engines.node)
} finally {
  rmSync(project, { recursive: true, force: true })
}

if (failures.length > 0) {
  console.error(`\nFailed:\n${failures.map((what) => `  ${what}`).join('\n')}`)
  process.exitCode = 1
}
