package io.kvasir.events;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URI;
import java.net.URLDecoder;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Protocol.Command;
import redis.clients.jedis.SslOptions;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * The transport of events kept in a Redis stream (Redis 7 or later), read from its beginning. An entry has a field
 * {@code batch}, msgpack or JSON, and may have the engine's number in {@code seq}; without it the entry's place in the
 * stream is its number. XREAD waits for entries; they are then read together with XINFO in one transaction, which gives
 * their place: Redis counts all entries ever added, so the first one left is number {@code entries-added - length}, and
 * a jump of that number means entries that were trimmed unread.
 */
final class RedisTransport implements Puller.Transport {
  private static final int DEFAULT_PORT = 6379;
  private static final int ENTRIES = 256;
  private static final int WAIT_MILLIS = 2000;
  private static final int TIMEOUT_MILLIS = 10_000;
  static final byte[] BEGINNING = bytes("0-0");
  private static final byte[] BATCH = bytes("batch");
  private static final byte[] SEQ = bytes("seq");

  private final URI url;
  private final byte[] key;
  /** The id of the last entry taken. */
  private byte[] last = BEGINNING;
  /** The place in the stream of the entry after it. */
  private long position;

  RedisTransport(URI url, String key) {
    this.url = url;
    this.key = bytes(key);
  }

  static int port(URI url) {
    return url.getPort() < 0 ? DEFAULT_PORT : url.getPort();
  }

  @Override
  public Puller.Session open(Inbox inbox) {
    Connection connection = new Connection(new HostAndPort(url.getHost(), port(url)), config(url));
    inbox.connected(true);
    return new RedisSession(connection, inbox);
  }

  /** How a server is connected to. */
  static DefaultJedisClientConfig config(URI url) {
    DefaultJedisClientConfig.Builder config =
        DefaultJedisClientConfig.builder()
            .resp2()
            .clientName("kvasir-events")
            .connectionTimeoutMillis(2000)
            .socketTimeoutMillis(TIMEOUT_MILLIS);
    if ("rediss".equals(url.getScheme())) {
      config.sslOptions(SslOptions.defaults());
    }
    String user = url.getRawUserInfo();
    if (user != null) {
      int colon = user.indexOf(':');
      if (colon > 0) {
        config.user(URLDecoder.decode(user.substring(0, colon), UTF_8));
      }
      config.password(URLDecoder.decode(user.substring(colon + 1), UTF_8));
    }
    String path = url.getPath() == null ? "" : url.getPath().replace("/", "");
    return config.database(path.isEmpty() ? 0 : Integer.parseInt(path)).build();
  }

  /** The batch among an entry's fields, null without one. */
  static byte @Nullable [] payload(List<?> fields) {
    for (int i = 0; i + 1 < fields.size(); i += 2) {
      if (Arrays.equals((byte[]) fields.get(i), BATCH)) {
        return (byte[]) fields.get(i + 1);
      }
    }
    return null;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  private final class RedisSession implements Puller.Session {
    private final Connection connection;
    private final Inbox inbox;
    private boolean more = true;

    RedisSession(Connection connection, Inbox inbox) {
      this.connection = connection;
      this.inbox = inbox;
    }

    @Override
    public void poll() {
      if (!more && !awaitEntry()) {
        return;
      }
      List<?> reply = readTransaction();
      if (reply.get(1) instanceof JedisDataException) {
        // No such key: nothing was written yet.
        more = false;
        inbox.caughtUp();
        return;
      }
      List<?> entries = (List<?>) reply.get(0);
      if (!locate(entries, (List<?>) reply.get(1))) {
        return;
      }
      for (Object entry : entries) {
        take((List<?>) entry);
      }
      more = entries.size() == ENTRIES;
      if (!more) {
        inbox.caughtUp();
      }
    }

    /** Waits for an entry after the last one taken; false when none came. */
    private boolean awaitEntry() {
      connection.sendCommand(
          Command.XREAD,
          bytes("COUNT"), bytes("1"), bytes("BLOCK"), bytes(Integer.toString(WAIT_MILLIS)),
          bytes("STREAMS"), key, last);
      return connection.getOne() != null;
    }

    private List<?> readTransaction() {
      connection.sendCommand(Command.MULTI);
      byte[] behind = bytes("(" + new String(last, UTF_8));
      connection.sendCommand(
          Command.XRANGE, key, behind, bytes("+"), bytes("COUNT"), bytes(Integer.toString(ENTRIES)));
      connection.sendCommand(Command.XINFO, bytes("STREAM"), key);
      connection.sendCommand(Command.EXEC);
      for (int i = 0; i < 3; i++) {
        Object _ = connection.getOne();
      }
      return (List<?>) connection.getOne();
    }

    /** Determines the place of the first entry; false when the stream has to be read again. */
    private boolean locate(List<?> entries, List<?> info) {
      long added = count(info, "entries-added");
      long length = count(info, "length");
      if (added < position) {
        // Another stream under the old name: Redis lost it, or it was deleted.
        inbox.restarted();
        last = BEGINNING;
        position = 0;
        more = true;
        return false;
      }
      if (!entries.isEmpty() && Arrays.equals(id(entries.getFirst()), id(field(info, "first-entry")))) {
        position = added - length;
      }
      return true;
    }

    private void take(List<?> entry) {
      last = id(entry);
      long number = position++;
      byte[] payload = null;
      List<?> fields = (List<?>) entry.get(1);
      for (int i = 0; i + 1 < fields.size(); i += 2) {
        byte[] name = (byte[]) fields.get(i);
        if (Arrays.equals(name, BATCH)) {
          payload = (byte[]) fields.get(i + 1);
        } else if (Arrays.equals(name, SEQ)) {
          number = engineNumber((byte[]) fields.get(i + 1), number);
        }
      }
      if (payload == null) {
        inbox.metrics().misframed();
      } else {
        inbox.message(number, payload);
      }
    }

    private long engineNumber(byte[] text, long otherwise) {
      try {
        long number = Long.parseLong(new String(text, UTF_8));
        if (number >= 0) {
          return number;
        }
      } catch (NumberFormatException e) {
        // counted below
      }
      inbox.metrics().misframed();
      return otherwise;
    }

    private static byte[] id(@Nullable Object entry) {
      return entry instanceof List<?> list ? (byte[]) list.getFirst() : BEGINNING;
    }

    private static long count(List<?> info, String name) {
      return field(info, name) instanceof Long count ? count : 0;
    }

    private static @Nullable Object field(List<?> info, String name) {
      for (int i = 0; i + 1 < info.size(); i += 2) {
        if (Arrays.equals((byte[]) info.get(i), bytes(name))) {
          return info.get(i + 1);
        }
      }
      throw new IllegalStateException("XINFO STREAM has no " + name + ": Redis 7 or later is needed");
    }

    @Override
    public void close() {
      connection.close();
    }
  }
}
