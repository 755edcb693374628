import { describe, expect, test } from 'vitest';
import { Rig } from '../test/rig.ts';
import { claimOf, placeOf } from './address.ts';
import { Presence } from './presence.ts';
import { packMinions, readMinions } from './saved.ts';

describe('one minion at its address', () => {
  test('it is present once it has proven itself and is connected', () => {
    const rig = new Rig();
    const board = rig.publisher();
    rig.run(60);
    rig.proves('web1', '10.0.0.1');
    expect(rig.present()).toEqual([]);
    board.opened('10.0.0.1');
    rig.run(1);
    expect(rig.present()).toEqual(['web1']);
    expect(rig.tick()).toEqual({ added: ['web1'], lost: [] });
    expect(rig.tick()).toEqual({ added: [], lost: [] });
    expect(rig.presence.known('web1')).toMatchObject({
      present: true,
      address: '10.0.0.1',
      evidence: 'connection',
    });
  });

  test('it is lost a grace after its connection has ended, and is not asked', () => {
    const rig = new Rig();
    const board = rig.publisher();
    rig.run(60);
    rig.join(board, 'web1', '10.0.0.1');
    rig.tick();
    rig.run(60);
    board.closed('10.0.0.1');
    rig.run(28);
    expect(rig.present()).toEqual(['web1']);
    expect(rig.presence.known('web1')).toMatchObject({ evidence: 'ended' });
    rig.run(5);
    expect(rig.tick()).toEqual({ added: [], lost: ['web1'] });
    expect(rig.asked).toEqual([]);
  });

  test('the time at which it was lost is that of its connection', () => {
    const rig = new Rig();
    const board = rig.publisher();
    rig.run(60);
    rig.join(board, 'web1', '10.0.0.1');
    board.closed('10.0.0.1');
    rig.run(1);
    const endedMs = rig.now + 1_700_000_000_000;
    rig.run(60);
    expect(rig.presence.known('web1')).toMatchObject({ present: false, goneMs: endedMs });
  });

  test('it is not lost when it reconnects, however often', () => {
    const rig = new Rig();
    const board = rig.publisher();
    rig.run(60);
    rig.join(board, 'web1', '10.0.0.1');
    rig.tick();
    for (let turn = 0; turn < 20; turn += 1) {
      board.closed('10.0.0.1');
      rig.run(11);
      board.opened('10.0.0.1');
      rig.run(1);
    }
    expect(rig.tick()).toEqual({ added: [], lost: [] });
  });

  test('it comes back by its connection alone', () => {
    const rig = new Rig();
    const board = rig.publisher();
    rig.run(60);
    rig.join(board, 'web1', '10.0.0.1');
    rig.tick();
    board.closed('10.0.0.1');
    rig.run(60);
    expect(rig.tick().lost).toEqual(['web1']);
    board.opened('10.0.0.1');
    rig.run(1);
    expect(rig.tick().added).toEqual(['web1']);
  });

  test('a half-open connection beside the new one changes nothing when it ends', () => {
    const rig = new Rig();
    const board = rig.publisher();
    rig.run(60);
    rig.join(board, 'web1', '10.0.0.1');
    board.opened('10.0.0.1');
    rig.run(40);
    board.closed('10.0.0.1');
    rig.run(120);
    expect(rig.present()).toEqual(['web1']);
  });

  test('a request without a connection to 4505 makes no minion present', () => {
    const rig = new Rig();
    rig.publisher();
    rig.run(60);
    rig.proves('web1', '10.0.0.1');
    rig.run(300);
    expect(rig.present()).toEqual([]);
    expect(rig.asked).toEqual([]);
  });

  test('IPv4 within IPv6 is the same address', () => {
    const rig = new Rig();
    const board = rig.publisher();
    rig.run(60);
    board.opened('10.0.0.1');
    rig.run(1);
    rig.proves('web1', '::ffff:10.0.0.1');
    expect(rig.present()).toEqual(['web1']);
  });

  test('a key that is not accepted any more is lost at once', () => {
    const rig = new Rig();
    const board = rig.publisher();
    rig.run(60);
    rig.join(board, 'web1', '10.0.0.1');
    rig.join(board, 'web2', '10.0.0.2');
    rig.tick();
    rig.refused.add('web1');
    rig.proves('web1', '10.0.0.1');
    expect(rig.presence.changes()).toEqual({ present: ['web2'], added: [], lost: ['web1'] });
    expect(rig.tick().lost).toEqual(['web1']);
    expect(rig.tick().lost).toEqual([]);
  });
});

describe('several minions at one address', () => {
  function shared(ids: readonly string[], options: ConstructorParameters<typeof Rig>[0] = {}) {
    const rig = new Rig(options);
    const board = rig.publisher();
    rig.run(60);
    for (const id of ids) rig.join(board, id, '10.0.0.1');
    rig.tick();
    return { rig, board };
  }

  test('when a connection ends all are asked, and the one that is silent is lost', () => {
    const { rig, board } = shared(['a', 'b', 'c']);
    rig.answering.add('a').add('c');
    rig.run(60);
    board.closed('10.0.0.1');
    rig.run(25);
    expect(rig.asked).toEqual([]);
    expect(rig.presence.known('a')).toMatchObject({ evidence: 'unclear' });
    rig.run(120);
    expect(rig.tick().lost).toEqual([]);
    rig.run(40);
    expect(rig.asked[0]).toEqual(['a', 'b', 'c']);
    expect(rig.asked.slice(1)).toEqual([['b'], ['b'], ['b'], ['b']]);
    expect(rig.tick().lost).toEqual(['b']);
    expect(rig.presence.known('a')).toMatchObject({ evidence: 'shared' });
  });

  test('one that makes requests is not lost, though it answers nothing', () => {
    const { rig, board } = shared(['a', 'b', 'c']);
    rig.answering.add('a');
    rig.run(60);
    board.closed('10.0.0.1');
    for (let turn = 0; turn < 20; turn += 1) {
      rig.proves('c', '10.0.0.1');
      rig.run(10);
    }
    expect(rig.tick().lost).toEqual(['b']);
  });

  test('none is lost while more are silent than can be missing', () => {
    const { rig, board } = shared(['a', 'b', 'c']);
    rig.answering.add('a');
    rig.run(60);
    board.closed('10.0.0.1');
    rig.run(200);
    expect(rig.tick().lost).toEqual([]);
    // The busy one answers again.
    rig.answering.add('c');
    rig.run(700);
    expect(rig.tick().lost).toEqual(['b']);
  });

  test('none is lost when all answer, and the address is not asked again', () => {
    const { rig, board } = shared(['a', 'b']);
    rig.answering.add('a').add('b');
    rig.run(60);
    board.closed('10.0.0.1');
    rig.run(120);
    const questions = rig.asked.length;
    rig.run(600);
    expect(rig.tick().lost).toEqual([]);
    expect(rig.asked).toHaveLength(questions);
  });

  test('one that is lost while others are asked is found too', () => {
    const { rig, board } = shared(['a', 'b', 'c']);
    rig.answering.add('a').add('b');
    rig.run(60);
    board.closed('10.0.0.1');
    // c is gone; b answers, and is gone a moment later.
    rig.run(36);
    board.closed('10.0.0.1');
    rig.answering.delete('b');
    rig.run(300);
    expect(rig.tick().lost).toEqual(['b', 'c']);
  });

  test('when the last connection of the address ends, all are lost without a question', () => {
    const { rig, board } = shared(['a', 'b']);
    rig.run(60);
    board.closed('10.0.0.1');
    board.closed('10.0.0.1');
    rig.run(40);
    expect(rig.tick().lost).toEqual(['a', 'b']);
    expect(rig.asked).toEqual([]);
  });

  test('one that comes back without a request is asked', () => {
    const { rig, board } = shared(['a', 'b']);
    rig.answering.add('a');
    rig.run(60);
    board.closed('10.0.0.1');
    rig.run(200);
    expect(rig.tick().lost).toEqual(['b']);
    rig.answering.add('b');
    board.opened('10.0.0.1');
    rig.run(20);
    expect(rig.tick().added).toEqual(['b']);
  });

  test('without questions those of an address stay as they were', () => {
    const { rig, board } = shared(['a', 'b'], { asks: false });
    rig.run(60);
    board.closed('10.0.0.1');
    rig.run(3_600);
    expect(rig.asked).toEqual([]);
    expect(rig.present()).toEqual(['a', 'b']);
    expect(rig.presence.stats()).toMatchObject({ unclear: 2 });
  });

  test('a new minion in the place of one that is gone shows that one is missing', () => {
    const { rig, board } = shared(['a', 'b']);
    rig.answering.add('a').add('new');
    rig.run(60);
    board.closed('10.0.0.1');
    rig.run(5);
    rig.join(board, 'new', '10.0.0.1');
    rig.run(200);
    expect(rig.present()).toEqual(['a', 'new']);
  });

  test('each may have a connection to each of two publishers', () => {
    const rig = new Rig();
    const boards = [rig.publisher('p1', 'a'), rig.publisher('p2', 'b')] as const;
    rig.run(60);
    for (const id of ['a', 'b', 'c']) {
      boards[1].opened('10.0.0.1');
      rig.join(boards[0], id, '10.0.0.1');
    }
    rig.run(60);
    rig.answering.add('a').add('c');
    for (const board of boards) board.closed('10.0.0.1');
    rig.run(200);
    expect(rig.present()).toEqual(['a', 'c']);
  });

  test('each may have two connections while a publisher is replaced, and one is missed', () => {
    const rig = new Rig();
    const boards = [rig.publisher('p1', 'a'), rig.publisher('p2', 'b')] as const;
    rig.run(60);
    for (const id of ['a', 'b', 'c']) {
      boards[1].opened('10.0.0.1');
      rig.join(boards[0], id, '10.0.0.1');
    }
    rig.run(60);
    rig.answering.add('a').add('c');
    rig.bye(boards[0]);
    boards[1].closed('10.0.0.1');
    const next = rig.publisher('p3', 'a');
    rig.run(5);
    next.opened('10.0.0.1');
    next.opened('10.0.0.1');
    rig.run(200);
    expect(rig.present()).toEqual(['a', 'c']);
  });

  test('a claim names the minion of a connection', () => {
    const rig = new Rig();
    const board = rig.publisher();
    rig.run(60);
    for (const id of ['a', 'b', 'c']) {
      board.opened(placeOf('10.0.0.1', claimOf(id)));
      rig.proves(id, '10.0.0.1');
    }
    rig.run(60);
    expect(rig.present()).toEqual(['a', 'b', 'c']);
    expect(rig.presence.known('b')).toMatchObject({ evidence: 'connection' });
    board.closed(placeOf('10.0.0.1', claimOf('b')));
    rig.run(35);
    expect(rig.present()).toEqual(['a', 'c']);
    expect(rig.asked).toEqual([]);
  });

  test('a claim at an address where the minion never was makes nothing present', () => {
    const rig = new Rig();
    const board = rig.publisher();
    rig.run(60);
    rig.proves('a', '10.0.0.1');
    board.opened(placeOf('10.6.6.6', claimOf('a')));
    rig.run(300);
    expect(rig.present()).toEqual([]);
  });
});

describe('a connection from elsewhere', () => {
  test('a minion that moved is asked, and stays', () => {
    const rig = new Rig();
    const board = rig.publisher();
    rig.run(60);
    rig.join(board, 'laptop', '10.0.0.1');
    rig.tick();
    rig.answering.add('laptop');
    rig.run(60);
    board.closed('10.0.0.1');
    board.opened('192.0.2.7');
    rig.run(60);
    expect(rig.asked).toEqual([['laptop']]);
    expect(rig.presence.known('laptop')).toMatchObject({ present: true, evidence: 'answers' });
    rig.proves('laptop', '192.0.2.7');
    expect(rig.presence.known('laptop')).toMatchObject({ evidence: 'connection' });
    expect(rig.tick()).toEqual({ added: [], lost: [] });
  });

  test('it may have moved to an address that has others', () => {
    const rig = new Rig();
    const board = rig.publisher();
    rig.run(60);
    rig.join(board, 'desk', '192.0.2.7');
    rig.join(board, 'laptop', '10.0.0.1');
    rig.tick();
    rig.answering.add('laptop');
    rig.run(60);
    board.closed('10.0.0.1');
    board.opened('192.0.2.7');
    rig.run(60);
    expect(rig.present()).toEqual(['desk', 'laptop']);
  });

  test('one that is gone is asked for some minutes, and lost', () => {
    const rig = new Rig();
    const board = rig.publisher();
    rig.run(60);
    rig.join(board, 'laptop', '10.0.0.1');
    rig.tick();
    rig.run(60);
    board.closed('10.0.0.1');
    board.opened('192.0.2.7');
    rig.run(150);
    expect(rig.tick().lost).toEqual([]);
    rig.run(40);
    expect(rig.asked).toHaveLength(5);
    expect(rig.tick().lost).toEqual(['laptop']);
  });

  test('one that comes back elsewhere after its last question is asked once more', () => {
    const rig = new Rig();
    const board = rig.publisher();
    rig.run(60);
    rig.join(board, 'laptop', '10.0.0.1');
    board.opened('192.0.2.7');
    rig.tick();
    rig.run(60);
    board.closed('10.0.0.1');
    while (rig.asked.length < 5) rig.run(1);
    rig.run(14);
    board.opened('192.0.2.8');
    rig.answering.add('laptop');
    rig.run(60);
    expect(rig.asked).toHaveLength(6);
    expect(rig.tick()).toEqual({ added: [], lost: [] });
    expect(rig.presence.known('laptop')).toMatchObject({ evidence: 'answers' });
  });

  test('strangers that come and go do not keep one that is gone for ever', () => {
    const rig = new Rig();
    const board = rig.publisher();
    rig.run(60);
    rig.join(board, 'laptop', '10.0.0.1');
    board.opened('192.0.2.7');
    rig.tick();
    rig.run(60);
    board.closed('10.0.0.1');
    for (let turn = 0; turn < 26; turn += 1) {
      board.opened('192.0.2.8');
      rig.run(5);
      board.closed('192.0.2.8');
      rig.run(5);
    }
    expect(rig.tick().lost).toEqual(['laptop']);
    expect(rig.asked).toHaveLength(9);
  });

  test('minions behind a pool of addresses are asked now and then', () => {
    const rig = new Rig();
    const board = rig.publisher();
    rig.run(60);
    for (let at = 1; at <= 3; at += 1) {
      board.opened(`198.51.100.${at}`);
      rig.proves(`m${at}`, `203.0.113.${at}`);
    }
    rig.answering.add('m1').add('m2').add('m3');
    rig.run(60);
    expect(rig.present()).toEqual(['m1', 'm2', 'm3']);
    rig.answering.delete('m2');
    rig.run(900);
    expect(rig.present()).toEqual(['m1', 'm3']);
  });

  test('one that never answers is not asked at every request', () => {
    const rig = new Rig();
    const board = rig.publisher();
    board.opened('198.51.100.1');
    rig.run(60);
    for (let minute = 0; minute < 10; minute += 1) {
      rig.proves('cron', '203.0.113.1');
      rig.run(60);
    }
    expect(rig.asked.length).toBeLessThanOrEqual(6);
    expect(rig.present()).toEqual([]);
  });
});

describe('a minion of two addresses', () => {
  test('one that moved away from others and is gone there is lost', () => {
    const rig = new Rig();
    const board = rig.publisher();
    rig.run(60);
    for (const id of ['a', 'b', 'c']) {
      rig.join(board, id, '192.0.2.1');
      rig.answering.add(id);
    }
    rig.tick();
    rig.run(60);
    board.closed('192.0.2.1');
    rig.join(board, 'c', '10.0.0.9');
    rig.run(300);
    expect(rig.tick().lost).toEqual([]);
    rig.answering.delete('c');
    board.closed('10.0.0.9');
    rig.run(300);
    expect(rig.tick().lost).toEqual(['c']);
  });

  test('both are shared: it is lost when it is silent for half an hour', () => {
    const rig = new Rig();
    const board = rig.publisher();
    rig.run(60);
    for (const id of ['a', 'b', 'c', 'd']) {
      rig.join(board, id, id < 'c' ? '192.0.2.1' : '192.0.2.2');
      rig.proves(id, '192.0.2.1');
      rig.proves(id, '192.0.2.2');
      rig.answering.add(id);
    }
    rig.tick();
    rig.run(900);
    expect(rig.tick().lost).toEqual([]);
    rig.answering.delete('d');
    board.closed('192.0.2.2');
    rig.run(1_800);
    expect(rig.tick().lost).toEqual([]);
    rig.run(1_200);
    expect(rig.tick().lost).toEqual(['d']);
    rig.run(3_600);
    expect(rig.present()).toEqual(['a', 'b', 'c']);
  });
});

describe('publishers', () => {
  function served() {
    const rig = new Rig();
    const board = rig.publisher('p1', 'a');
    rig.run(60);
    for (let at = 1; at <= 50; at += 1) rig.join(board, `m${at}`, `10.0.0.${at}`);
    rig.tick();
    rig.run(60);
    return { rig, board };
  }

  test('one that is killed and comes back loses no minion', () => {
    const { rig, board } = served();
    rig.kill(board);
    rig.run(20);
    const next = rig.publisher('p2', 'a');
    rig.run(11);
    for (let at = 1; at <= 50; at += 1) next.opened(`10.0.0.${at}`);
    rig.run(300);
    expect(rig.tick()).toEqual({ added: [], lost: [] });
  });

  test('one that is there again before it was missed delays no verdict on one that is gone', () => {
    const { rig, board } = served();
    rig.kill(board);
    rig.run(3);
    const next = rig.publisher('p2', 'a');
    rig.run(3);
    // The owner stood still meanwhile.
    rig.presence.resumed(rig.now);
    rig.run(8);
    for (let at = 2; at <= 50; at += 1) next.opened(`10.0.0.${at}`);
    rig.run(50);
    expect(rig.tick().lost).toEqual([]);
    rig.run(40);
    expect(rig.tick().lost).toEqual(['m1']);
  });

  test('minions that do not come back to the next one are lost', () => {
    const { rig, board } = served();
    rig.bye(board);
    rig.run(5);
    const next = rig.publisher('p2', 'a');
    rig.run(11);
    for (let at = 2; at <= 50; at += 1) next.opened(`10.0.0.${at}`);
    rig.run(40);
    expect(rig.tick().lost).toEqual([]);
    rig.run(30);
    expect(rig.tick().lost).toEqual(['m1']);
  });

  test('a rolling restart loses no minion', () => {
    const { rig, board } = served();
    const next = rig.publisher('p2', 'a');
    rig.run(5);
    rig.bye(board);
    rig.run(11);
    for (let at = 1; at <= 50; at += 1) next.opened(`10.0.0.${at}`);
    rig.run(300);
    expect(rig.tick()).toEqual({ added: [], lost: [] });
  });

  test('without any publisher nothing is lost', () => {
    const { rig, board } = served();
    rig.kill(board);
    rig.run(7_200);
    expect(rig.tick()).toEqual({ added: [], lost: [] });
    expect(rig.presence.stats()).toMatchObject({ sure: false, present: 50 });
  });

  test('while one is silent no minion of another is lost: it may be there', () => {
    const { rig, board } = served();
    const other = rig.publisher('p2', 'b');
    rig.run(60);
    rig.join(other, 'x', '10.1.0.1');
    rig.tick();
    const unmute = rig.mute(board);
    other.closed('10.1.0.1');
    rig.run(240);
    expect(rig.tick().lost).toEqual([]);
    unmute();
    rig.run(60);
    expect(rig.tick().lost).toEqual(['x']);
  });

  test('one that stays silent for five minutes has ended, if another one serves', () => {
    const { rig, board } = served();
    rig.publisher('p2', 'b');
    rig.run(60);
    rig.kill(board);
    rig.run(290);
    expect(rig.tick().lost).toEqual([]);
    rig.run(400);
    expect(rig.tick().lost).toHaveLength(50);
  });

  test('a lost report makes the owner ask for the whole list', () => {
    const { rig, board } = served();
    board.closed('10.0.0.1');
    board.changes(); // This report is lost.
    rig.report(board.changes());
    expect(rig.presence.publishers.wantsList).toBe(true);
    rig.run(90);
    expect(rig.tick().lost).toEqual(['m1']);
  });

  test('a late report of one that has ended is ignored', () => {
    const { rig, board } = served();
    rig.publisher('p2', 'a');
    rig.bye(board);
    board.opened('10.9.9.9');
    rig.report(board.changes());
    rig.run(1);
    expect(rig.presence.stats()).toMatchObject({ publishers: 1 });
  });

  test('minions are counted by the host of their publisher', () => {
    const { rig } = served();
    const other = rig.publisher('p2', 'b');
    rig.join(other, 'x', '10.1.0.1');
    expect(rig.presence.byHost()).toEqual(
      new Map([
        ['a', 50],
        ['b', 1],
      ]),
    );
  });
});

describe('the owner', () => {
  test('while it is cut off no minion is silent', () => {
    const rig = new Rig();
    const board = rig.publisher();
    rig.run(60);
    rig.join(board, 'web1', '10.0.0.1');
    rig.tick();
    rig.presence.cutOff(rig.now);
    const unmute = rig.mute(board);
    board.closed('10.0.0.1');
    rig.run(3_600);
    board.opened('10.0.0.1');
    board.changes(); // This report is lost.
    rig.presence.resumed(rig.now);
    unmute();
    rig.run(300);
    expect(rig.tick()).toEqual({ added: [], lost: [] });
  });

  test('the next one continues from what was saved, and reports nothing twice', () => {
    const rig = new Rig();
    const board = rig.publisher();
    rig.run(60);
    for (let at = 1; at <= 100; at += 1) rig.join(board, `m${at}`, `10.0.0.${at}`);
    rig.tick();
    const shards = rig.presence.takeUnsaved();
    expect(rig.presence.takeUnsaved().size).toBe(0);
    const saved = [...shards.values()].flatMap((minions) => readMinions(packMinions(minions)));
    expect(saved).toHaveLength(100);
    const next = new Rig();
    next.presence.restore([{ by: 'p1', host: 'a' }], saved, next.now);
    expect(next.tick()).toEqual({ added: [], lost: [] });
    expect(next.present()).toHaveLength(100);
    next.run(5);
    const again = next.publisher('p1', 'a');
    for (let at = 2; at <= 100; at += 1) again.opened(`10.0.0.${at}`);
    next.run(50);
    expect(next.tick()).toEqual({ added: [], lost: [] });
    next.run(60);
    expect(next.tick()).toEqual({ added: [], lost: ['m1'] });
  });

  test('it does not judge before the publishers that were there have reported', () => {
    const rig = new Rig();
    const minion = { id: 'a', present: true, sinceMs: 5, goneMs: 0, wasConnected: true };
    rig.presence.restore(
      [
        { by: 'p1', host: 'a' },
        { by: 'p2', host: 'b' },
      ],
      [{ ...minion, addresses: ['10.0.0.1'] }],
      rig.now,
    );
    rig.publisher('p1', 'a');
    rig.run(290);
    expect(rig.tick().lost).toEqual([]);
    rig.run(600);
    expect(rig.tick().lost).toEqual(['a']);
  });

  test('a key that went between two owners is reported as lost', () => {
    const rig = new Rig();
    rig.refused.add('a');
    const minion = { id: 'a', present: true, sinceMs: 5, goneMs: 0, wasConnected: true };
    rig.presence.restore([], [{ ...minion, addresses: [] }], rig.now);
    expect(rig.tick().lost).toEqual(['a']);
  });

  test('what changes while an event is stored is reported by the next one', () => {
    const rig = new Rig();
    const board = rig.publisher();
    rig.run(60);
    rig.join(board, 'a', '10.0.0.1');
    const changes = rig.presence.changes();
    rig.join(board, 'b', '10.0.0.2');
    rig.presence.confirm(changes);
    expect(rig.tick()).toEqual({ added: ['b'], lost: [] });
    board.closed('10.0.0.1');
    rig.run(40);
    const gone = rig.presence.changes();
    expect(gone.lost).toEqual(['a']);
    board.opened('10.0.0.1');
    rig.run(1);
    rig.presence.confirm(gone);
    expect(rig.tick()).toEqual({ added: ['a'], lost: [] });
  });

  test('only shards with a change are saved', () => {
    const rig = new Rig();
    const board = rig.publisher();
    rig.run(60);
    for (let at = 1; at <= 100; at += 1) rig.join(board, `m${at}`, `10.0.0.${at}`);
    rig.tick();
    rig.presence.takeUnsaved();
    for (let at = 1; at <= 100; at += 1) rig.proves(`m${at}`, `10.0.0.${at}`);
    rig.tick();
    expect(rig.presence.takeUnsaved().size).toBe(0);
    board.closed('10.0.0.7');
    rig.run(60);
    rig.tick();
    const shards = rig.presence.takeUnsaved();
    expect(shards.size).toBe(1);
    rig.presence.notSaved(shards.keys());
    expect(rig.presence.takeUnsaved().size).toBe(1);
  });
});

test('a question that did not go out does not count', () => {
  const presence = new Presence({
    graceMs: 30_000,
    asks: true,
    provenForMs: 1,
    isAccepted: () => true,
    answers: () => true,
    wallOf: (ms) => ms,
  });
  const list = { by: 'p', host: 'a', kind: 'whole', part: 0, of: 1 } as const;
  let n = 0;
  const count = (places: readonly (readonly [string, number])[], now: number): void => {
    presence.takeReport({ by: 'p', host: 'a', n: n++, kind: 'changes', places }, now);
  };
  presence.takeReport({ ...list, n: n++, places: [['10.0.0.1', 2]] }, 0);
  presence.takeProofs(
    ['a', 'b'].map((id) => ({ id, address: '10.0.0.1', agoMs: 0, answers: false })),
    0,
  );
  for (let now = 1_000; now <= 100_000; now += 1_000) {
    count([], now);
    presence.judge(now);
  }
  let asked = 0;
  for (let now = 101_000; now <= 500_000; now += 1_000) {
    count([['10.0.0.1', 1]], now);
    const ids = presence.judge(now);
    asked += ids.length;
    if (ids.length > 0) presence.notAsked(ids);
  }
  expect(asked).toBeGreaterThan(20);
  expect(presence.changes().present).toEqual(['a', 'b']);
});
