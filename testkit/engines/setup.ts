import { ensureNpmImage } from '../builds/npm-image.ts'
import { ensureDatabaseImages } from '../databases/images.ts'
import { dockerHere } from './docker-here.ts'

/** Makes the images of the tests once, before files that run side by side would each make them. */
export default async function setup(): Promise<void> {
  if (!dockerHere) return
  await ensureNpmImage()
  await ensureDatabaseImages()
}
