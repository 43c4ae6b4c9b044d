// Plain JavaScript, so that it runs on any Node. Development uses the Node of node_modules (see CONTRIBUTING.md).
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major < 22 || (major === 22 && minor < 15)) {
  console.error(
    `Meanwhile is developed on Node 24, which \`npm ci\` installs into node_modules; this is Node ${process.versions.node}.\n` +
      'Was it installed with --ignore-scripts? Run `npm ci` again, and start programs with `npm run …` or `npx …`.',
  )
  process.exit(1)
}
