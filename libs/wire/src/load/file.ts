import { checkNames } from '../names.ts';
import type { SaltMap } from '../value.ts';
import { bytesOf, intOf, mapOf } from '../value.ts';
import { fieldError, isTexts, maybe, needText, optionalText } from './fields.ts';

/*
 * _serve_file (aes) => cmd, path text, saltenv text, loc int, [gzip int 1-9]
 *   reply: data bytes (empty = end of file), dest text, [gzip int]
 * _file_recv (aes)  => cmd, id, path list of texts, loc int, data bytes, size int
 * _file_hash, _file_hash_and_stat, _file_find (aes) => cmd, path text, saltenv text
 * _file_list, _file_list_emptydirs, _dir_list, _symlink_list (aes)
 *                   => cmd, saltenv text, prefix text, [fsbackend]
 */

/** A request for a piece of a file. */
export interface ServeFileRequest {
  readonly path: string;
  readonly saltenv: string;
  /** Offset in bytes. */
  readonly loc: number;
  /** Compression level 1 to 9, if the piece is to be compressed. */
  readonly gzip?: number;
}

/** Reads a `_serve_file` load; throws WireError SALT_WIRE_FIELD. */
export function parseServeFile(load: SaltMap): ServeFileRequest {
  checkNames(load, '_serve_file');
  const loc = intOf(load, 'loc');
  if (loc === undefined || loc < 0) throw fieldError('_serve_file', 'loc', 'an offset');
  const gzip = intOf(load, 'gzip');
  return {
    path: needText(load, 'path', '_serve_file'),
    saltenv: optionalText(load, 'saltenv', '_serve_file') ?? 'base',
    loc,
    ...maybe('gzip', gzip !== undefined && gzip >= 1 && gzip <= 9 ? gzip : undefined),
  };
}

/** The `_serve_file` load as a minion sends it. */
export function buildServeFile(request: ServeFileRequest): SaltMap {
  return mapOf({
    path: request.path,
    saltenv: request.saltenv,
    cmd: '_serve_file',
    loc: request.loc,
    gzip: request.gzip,
  });
}

/** A piece of a file; empty data means its end. If `dest` is empty too, there is no such file. */
export interface FilePiece {
  readonly data: Uint8Array;
  readonly dest: string;
  readonly gzip?: number;
}

/** The reply to `_serve_file`. */
export function buildFilePiece(piece: FilePiece): SaltMap {
  return mapOf({ data: piece.data, dest: piece.dest, gzip: piece.gzip });
}

/** Reads a reply to `_serve_file`; throws WireError SALT_WIRE_FIELD. */
export function parseFilePiece(reply: SaltMap): FilePiece {
  const data = bytesOf(reply, 'data');
  if (data === undefined) throw fieldError('_serve_file reply', 'data', 'bytes');
  return {
    data,
    dest: needText(reply, 'dest', '_serve_file reply'),
    ...maybe('gzip', intOf(reply, 'gzip')),
  };
}

/** A piece of a file that a minion pushes. */
export interface FileReceive {
  readonly id: string;
  /** The components of the path; not checked for dots or slashes. */
  readonly path: string[];
  readonly loc: number;
  readonly data: Uint8Array;
  readonly size: number;
}

/** Reads a `_file_recv` load; throws WireError SALT_WIRE_FIELD. */
export function parseFileReceive(load: SaltMap): FileReceive {
  checkNames(load, '_file_recv');
  const path = load.get('path');
  const loc = intOf(load, 'loc');
  const data = bytesOf(load, 'data');
  if (!isTexts(path)) throw fieldError('_file_recv', 'path', 'a list of texts');
  if (loc === undefined || loc < 0) throw fieldError('_file_recv', 'loc', 'an offset');
  if (data === undefined) throw fieldError('_file_recv', 'data', 'bytes');
  return {
    id: needText(load, 'id', '_file_recv'),
    path,
    loc,
    data,
    size: intOf(load, 'size') ?? 0,
  };
}

/** A question about one path of the file server. */
export interface FilePathRequest {
  readonly path: string;
  readonly saltenv: string;
}

/** Reads a `_file_hash`, `_file_hash_and_stat` or `_file_find` load; throws WireError. */
export function parseFilePath(load: SaltMap): FilePathRequest {
  checkNames(load, 'file');
  return {
    path: needText(load, 'path', 'file'),
    saltenv: optionalText(load, 'saltenv', 'file') ?? 'base',
  };
}

/** A question for a listing of the file server. */
export interface FileListRequest {
  readonly saltenv: string;
  readonly prefix: string;
}

/** Reads a `_file_list`, `_dir_list`, … load; throws WireError SALT_WIRE_FIELD. */
export function parseFileList(load: SaltMap): FileListRequest {
  checkNames(load, 'file list');
  const prefix = optionalText(load, 'prefix', 'file list') ?? '';
  return {
    saltenv: optionalText(load, 'saltenv', 'file list') ?? 'base',
    prefix: prefix.replace(/^\/+|\/+$/g, ''),
  };
}
