import { describe, expect, it } from 'vitest'
import { refuseOthersImages } from '../../../../src/engines/docker/cross-tenant-image-guard.ts'
import { stageRepository } from '../../../../src/engines/docker/image-names.ts'
import { EngineFailure } from '../../../../src/engines/engine.ts'

const inBraces = (text: string) => `$\u007b${text}}`

describe('an image that is not for a tenant', () => {
  it.each([
    'FROM ab12',
    'FROM 0',
    'FROM sha256:ab',
    'from --platform=linux/amd64 "ab12" AS a',
    'FROM longshore/env_1:dep_1',
    'FROM docker.io/longshore/env_1:dep_1',
    'FROM longshore-stage/1/2:1',
    'ARG A=ab\nFROM $A',
    'ARG A=long B=shore\nFROM $A$B/env_1:dep_1',
    `ARG A=ab\nARG B=${inBraces('A')}12\nFROM ${inBraces('B:-node:22')}`,
    `ARG A\nFROM ${inBraces(`X:-${inBraces('A:+node:22')}`)}ab`,
    'ARG GIVEN=node:22\nFROM $GIVEN',
    'FROM $#ab',
    'ARG Y=ab\nARG X=" Y=node:22"\nFROM $Y',
    'ARG Y=ab\nARG X="x\\" Y=node:22"\nFROM $Y',
    `ARG Y=ab\nARG X='"'" Y=node:22"\nFROM $Y`,
    `FROM --platform="${inBraces('A:+ node:22 ')}" ab`,
    'FROM node:22\nCOPY --from=ab12 /a /b',
    'FROM node:22\nCOPY --from=1 /a /b',
    'FROM node:22\nCOPY --from=0 /a /b',
    'FROM node:22 AS ab\nCOPY --from=ab /a /b',
    'FROM node:22\nCOPY --fr"o"m=\'ab\' /a /b',
    'FROM node:22\nCOPY --chown=1 --from=longshore/env_1:dep_1 /a /b',
    'FROM node:22\nONBUILD COPY --from=ab12 /a /b',
    'FROM node:22\nCOPY \\\n# a comment\n  --from=ab12 /a /b',
    '# escape=`\nFROM node:22\nCOPY `\n  --from=ab12 /a /b',
  ])('is refused: %j', (dockerfile) => {
    expect(() => refuseOthersImages(dockerfile, { GIVEN: 'ab12' })).toThrow(EngineFailure)
  })

  it.each([
    'FROM scratch',
    'FROM node',
    'FROM cafe:latest',
    'FROM registry.example.com:5000/team/app@sha256:ab12',
    'ARG V=22\nFROM node:$V-alpine',
    'ARG V="22" W=\'a\'\nFROM "node:$V"',
    `ARG BASE\nFROM ${inBraces('BASE:-node:22-alpine')} AS build`,
    'FROM node:22 AS a\nFROM a AS b\nCOPY --from=A /a /b\nCOPY --from=0 /a /b',
    'FROM node:22 AS cafe\nRUN make\nFROM node:22\nCOPY --from=cafe /a /b',
    'FROM node:22\nCOPY --from=nginx:1.27 /a /b',
    'FROM node:22\nCOPY . /app\nRUN echo --from=ab FROM ab',
  ])('is not this: %j', (dockerfile) => {
    expect(() => refuseOthersImages(dockerfile, {})).not.toThrow()
  })

  it('build stages have names that other ids do not tell', () => {
    const name = stageRepository('installation', 'env_1')
    expect(name).toMatch(/^longshore-stage\/[0-9a-f]{8}\/[0-9a-f]{40}$/)
    expect(name.split('/')[2]).not.toBe(stageRepository('another', 'env_1').split('/')[2])
  })
})
