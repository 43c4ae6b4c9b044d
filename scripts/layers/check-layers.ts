// Checks the layering rules of .dependency-cruiser.cjs, and that in core only telemetry/ names span attributes. It is a wrapper, because
// the tool passes when it has found no file at all.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cruise, format } from 'dependency-cruiser'
import extractOptions from 'dependency-cruiser/config-utl/extract-depcruise-options'

const roots = ['packages', 'apps', 'examples', 'scripts']
const options = await extractOptions(join(import.meta.dirname, '.dependency-cruiser.cjs'))
const { output } = await cruise(roots, options)
if (typeof output === 'string') throw new Error('expected a cruise result, not a report')

const cruised = new Set(output.modules.map((module) => module.source))
const sources = globSync('packages/*/src/**/*.ts', {
  exclude: ['**/fixtures/**', '**/test-data/**', '**/*.d.ts'],
})
const missed = sources.filter((file) => !cruised.has(file))

const report = await format(output, { outputType: 'err-long' })
console.log(typeof report.output === 'string' ? report.output.trim() : report.output)
if (sources.length === 0 || missed.length > 0) {
  console.error(`The layering check did not see every source: ${missed.join(', ') || 'no sources found'}`)
}
// The tool does not list imports from a peer dependency.
const telling = sources.filter(
  (file) =>
    /^packages\/core\/src\/(?!telemetry\/|.*\.test)/.test(file) &&
    /['"](gen_ai|meanwhile)\.|^import (?!type ).* from '@opentelemetry/m.test(readFileSync(file, 'utf8')),
)
if (telling.length > 0)
  console.error(`Only core's telemetry/ may name span attributes and call OpenTelemetry, not ${telling.join(', ')}`)
process.exitCode = report.exitCode > 0 || sources.length === 0 || missed.length > 0 || telling.length > 0 ? 1 : 0
