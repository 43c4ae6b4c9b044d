// Checks what a user installs: packs every package and tests the tarballs. Each is tested in a project that has only it and its peers: imported on
// the oldest supported Node and on the Node of this repository, type-checked as users do, and bundled; then all together are type-checked with the
// oldest supported TypeScript. With --sizes the measured bundle sizes become the budget.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkAlone } from './packages/alone.ts'
import { keepAsBudget } from './packages/bundles.ts'
import { installNodes } from './packages/nodes.ts'
import { checkOldTelemetry } from './packages/old-telemetry.ts'
import { command, failures, step } from './packages/step.ts'
import { checkTogether, installTogether } from './packages/together.ts'
import type { Compiler } from './packages/types.ts'
import { packAll } from './packages/workspace.ts'
import { COMPILERS } from './user-types/compilers.ts'

const compiler: Compiler = {
  version: '7',
  // Each of its checkers would find out the types of the libraries for itself.
  check: [COMPILERS['7.0.2'], '--checkers', '1', '-p'],
  // The other reading, `nodenext`, is tried on all packages together: what a package lacks by itself is missing in both.
  readings: ['bundler'],
}

const oldest: Compiler = {
  version: '5.9',
  // It is slow, and the declarations of the libraries themselves take most of its time.
  check: [join(import.meta.dirname, 'user-types/check-files.ts'), COMPILERS['5.9.3']],
  readings: ['nodenext'],
}

async function check(folder: string): Promise<void> {
  const packages = await packAll(folder)
  const linter = join(import.meta.dirname, 'packages/lint-tarballs.ts')
  const tarballs = packages.map(({ tarball }) => tarball)
  await command('the tarballs have no known mistakes', process.execPath, [linter, ...tarballs])
  const nodes = await step('install the Nodes', () =>
    installNodes(
      join(folder, 'nodes'),
      packages.map(({ manifest }) => manifest),
    ),
  )
  const together = await installTogether(folder, packages)
  if (together === undefined) return
  const bench = { folder, together, packages, nodes: nodes ?? [], compiler, oldest }
  await Promise.all(packages.map((one) => checkAlone(one, bench)))
  await checkTogether(bench)
  await checkOldTelemetry(bench)
}

const folder = await mkdtemp(join(tmpdir(), 'meanwhile-packages-'))
try {
  await check(folder)
  if (process.argv.includes('--sizes')) keepAsBudget()
} finally {
  await rm(folder, { recursive: true, force: true })
}

if (failures.length > 0) {
  console.error(`\nFailed:\n${failures.map((what) => `  ${what}`).join('\n')}`)
  process.exitCode = 1
}
