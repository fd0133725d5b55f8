#!/usr/bin/env node
// Becomes dist/longshore.js. An old Node must be able to read this file, so it imports nothing before the check.
const required = [20, 18]
const present = process.versions.node.split('.').map(Number)
if (present[0] > required[0] || (present[0] === required[0] && present[1] >= required[1])) {
  void import('./main.js')
} else {
  process.stderr.write(
    `Longshore needs Node ${required.join('.')} or newer; this is Node ${process.versions.node}.\n`,
  )
  process.exitCode = 1
}
