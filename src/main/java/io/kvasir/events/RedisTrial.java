package io.kvasir.events;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Protocol.Command;
import redis.clients.jedis.exceptions.JedisException;

/** A trial of a Redis stream. */
final class RedisTrial implements FeedTrial {
  private static final int MOST = 256;

  private final URI url;
  private final String key;
  private final PayloadDecoder decoder = new PayloadDecoder();
  private @Nullable Connection connection;
  private byte[] last = RedisTransport.BEGINNING;

  RedisTrial(URI url, String key) {
    this.url = url;
    this.key = key;
  }

  @Override
  public String place() {
    return "the stream " + key + " at " + url.getHost() + ":" + RedisTransport.port(url);
  }

  @Override
  public long begin() throws IOException {
    try {
      connection = new Connection(new HostAndPort(url.getHost(), RedisTransport.port(url)), RedisTransport.config(url));
      long kept = answer(Command.XLEN, key) instanceof Long count ? count : -1;
      if (answer(Command.XREVRANGE, key, "+", "-", "COUNT", "1") instanceof List<?> newest && !newest.isEmpty()) {
        last = (byte[]) ((List<?>) newest.getFirst()).getFirst();
      }
      return kept;
    } catch (JedisException failed) {
      throw new IOException(String.valueOf(failed.getMessage()), failed);
    }
  }

  @Override
  public List<DecodedMessage> next(Duration timeout) throws IOException {
    List<DecodedMessage> messages = new ArrayList<>();
    try {
      Object reply =
          answer(
              Command.XREAD, "COUNT", Integer.toString(MOST), "BLOCK", Long.toString(Math.max(1, timeout.toMillis())),
              "STREAMS", key, new String(last, UTF_8));
      if (reply instanceof List<?> streams) {
        for (Object entry : (List<?>) ((List<?>) streams.getFirst()).get(1)) {
          last = (byte[]) ((List<?>) entry).getFirst();
          byte[] payload = RedisTransport.payload((List<?>) ((List<?>) entry).get(1));
          messages.add(decoder.decode(KvBatch.UNSEQUENCED, payload == null ? new byte[0] : payload));
        }
      }
    } catch (JedisException failed) {
      throw new IOException(String.valueOf(failed.getMessage()), failed);
    }
    return messages;
  }

  private @Nullable Object answer(Command command, String... arguments) throws IOException {
    Connection open = connection;
    if (open == null) {
      throw new IOException("not connected");
    }
    byte[][] bytes = new byte[arguments.length][];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = arguments[i].getBytes(UTF_8);
    }
    open.sendCommand(command, bytes);
    return open.getOne();
  }

  @Override
  public void close() {
    if (connection != null) {
      connection.close();
    }
  }
}
