/** Tests core with OpenTelemetry's SDK 2, which accepts only API 1.9, on the same Nodes as the packages. */

import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bench } from './alone.ts'
import { project } from './project.ts'
import { command, step } from './step.ts'

export async function checkOldTelemetry({ folder, packages, nodes }: Bench): Promise<void> {
  await command('types of core with @opentelemetry/api 1.9', 'tsc', ['-p', 'packages/core/tsconfig.api-1.9.json'])
  const ours = ['@meanwhile/core', '@meanwhile/assemble'].map((name) => {
    const tarball = packages.find(({ manifest }) => manifest.name === name)?.tarball
    if (tarball === undefined) throw new Error(`${name} is missing`)
    return tarball
  })
  const old = ['@opentelemetry/api@1.9.1', '@opentelemetry/sdk-trace@2.12.1']
  const beside = join(folder, 'old-telemetry')
  if (!(await step(`install core with ${old.join(' and ')}`, () => project(beside, [...ours, ...old])))) return
  await copyFile(join(import.meta.dirname, 'otel-2-app.mjs'), join(beside, 'app.mjs'))
  for (const { path, version } of nodes) {
    await command(`spans of core with them on Node ${version}`, path, ['app.mjs'], beside)
  }
}
