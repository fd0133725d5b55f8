import { describe, expect, it } from 'vitest'
import { detectPreset } from '../../../src/domain/apps/detect-preset.ts'
import { sourceFacts } from '../../../src/domain/apps/source-facts.ts'

const detect = (files: string[], packageJson?: object) => {
  const found = detectPreset(sourceFacts(files, packageJson ? JSON.stringify(packageJson) : null))
  return found?.preset ?? null
}

describe('the preset of a source without a Dockerfile', () => {
  it.each<[string, string[], object | undefined, string | null]>([
    ['Next.js', [], { dependencies: { next: '16', react: '19' } }, 'NEXT_JS'],
    ['Express', ['src/index.js'], { dependencies: { express: '5' }, main: 'src/index.js' }, 'EXPRESS'],
    ['Express that also builds with Vite', [], { dependencies: { express: '5', vite: '7' } }, 'EXPRESS'],
    [
      'a server with a start script',
      [],
      { scripts: { start: 'node a.js' }, dependencies: { fastify: '5' } },
      'NODE_JS',
    ],
    ['a server that names its main file', [], { main: 'a.js' }, 'NODE_JS'],
    ['a server without a package.json', ['server.js'], undefined, 'NODE_JS'],
    [
      'a Vite site',
      ['index.html'],
      { scripts: { build: 'vite build' }, devDependencies: { vite: '7' } },
      'STATIC',
    ],
    [
      'a Create React App site, whose start script is for development',
      ['public/index.html'],
      {
        scripts: { start: 'react-scripts start', build: 'react-scripts build' },
        dependencies: { 'react-scripts': '5' },
      },
      'STATIC',
    ],
    [
      'a server that serves what Vite built',
      [],
      { scripts: { start: 'node s.js', build: 'vite build' }, devDependencies: { vite: '7' } },
      'NODE_JS',
    ],
    ['files alone', ['index.html', 'style.css'], undefined, 'STATIC'],
    ['files in public', ['public/index.html'], undefined, 'STATIC'],
    ['Flask with templates', ['app.py', 'static/index.html', 'requirements.txt'], undefined, null],
    ['Rails', ['Gemfile', 'config.ru', 'public/index.html'], undefined, null],
    ['Go', ['go.mod', 'main.go'], undefined, null],
    ['nothing known', ['notes.txt'], undefined, null],
  ])('%s', (_what, files, packageJson, preset) => {
    expect(detect(files, packageJson)).toBe(preset)
  })
})
