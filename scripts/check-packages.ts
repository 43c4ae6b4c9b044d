// What a user gets: packs every package, checks the tarballs, installs them together into an empty project and imports
// every entry there, on the Node of this repository and, where `engines` allows, on the Node that npm itself runs on.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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

  const nodes = [...new Set([process.execPath, process.env.npm_node_execpath ?? process.execPath])]
  for (const node of nodes) {
    const version = run(`node at ${node === process.execPath ? 'node_modules' : 'npm'}`, node, ['--version']).trim()
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
} finally {
  rmSync(project, { recursive: true, force: true })
}

if (failures.length > 0) {
  console.error(`\nFailed:\n${failures.map((what) => `  ${what}`).join('\n')}`)
  process.exitCode = 1
}
