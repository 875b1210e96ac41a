package io.kvasir.app.config;

import io.kvasir.answers.AnswerSettings;
import io.kvasir.answers.AnswerSettings.StoreSettings;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads {@code kvasir.answers}; faults are reported whether the cache is on or off. */
final class AnswerSettingsReader {
  private enum Store { OFF, MEMORY, REDIS }

  private static final long LONGEST_ENTRY = 1 << 30;
  private static final Duration LONGEST_WAIT = Duration.ofMinutes(1);

  private AnswerSettingsReader() {}

  /** The settings of the response cache, null when it is off. */
  static @Nullable AnswerSettings read(ConfigSection answers) {
    Store store = answers.choice("store", Store.class);
    ConfigSection memory = answers.section("memory");
    StoreSettings.Memory memorySettings = new StoreSettings.Memory(memory.bytes("size"));
    memory.rejectUnread();
    ConfigSection redis = answers.section("redis");
    StoreSettings.Redis redisSettings = redis(redis);
    redis.rejectUnread();
    ConfigSection shared = answers.section("shared");
    AnswerSettings.SharingSettings sharing =
        new AnswerSettings.SharingSettings(shared.flag("enabled"), shared.count("max-waiters", 1, 1_000_000));
    shared.rejectUnread();
    long maxEntry = answers.bytes("max-entry");
    if (maxEntry > LONGEST_ENTRY) {
      answers.fault("max-entry", "has to be at most 1 GiB: an answer is kept in one piece");
    }
    if (store == Store.MEMORY && maxEntry > memorySettings.bytes()) {
      answers.fault("max-entry", "has to be at most memory.size: nothing longer finds room there");
    }
    long recording = answers.bytes("recording");
    if (recording < maxEntry) {
      answers.fault("recording", "has to be at least max-entry: an answer of that length could never be kept");
    }
    AnswerSettings settings =
        new AnswerSettings(
            store == Store.REDIS ? redisSettings : memorySettings,
            answers.duration("ttl"),
            (int) Math.min(maxEntry, LONGEST_ENTRY),
            new AnswerSettings.EligibilitySettings(
                new HashSet<>(answers.texts("sampled-profiles")), answers.texts("side-effect-tools")),
            new AnswerSettings.KeySettings(
                answers.texts("key-headers"), new HashSet<>(ignoredFields(answers))),
            sharing,
            recording);
    answers.rejectUnread();
    return store == Store.OFF ? null : settings;
  }

  private static List<String> ignoredFields(ConfigSection answers) {
    List<String> fields = answers.texts("ignored-fields");
    for (String field : fields) {
      switch (field) {
        case "model", "messages", "prompt", "input", "stream", "temperature", "seed", "tools", "query", "documents",
            "cache_salt" ->
            answers.fault("ignored-fields", "has '" + field + "' in it: it decides what the answer is");
        default -> {
          // The operator knows.
        }
      }
    }
    return fields;
  }

  private static StoreSettings.Redis redis(ConfigSection redis) {
    String password = redis.text("password");
    String authorities = redis.text("authorities");
    if (!authorities.isBlank() && !Files.isReadable(Path.of(authorities))) {
      redis.fault("authorities", "'" + authorities + "' cannot be read; name a file of PEM certificates");
    }
    URI url = redis.redis("url");
    if (!authorities.isBlank() && !"rediss".equals(url.getScheme())) {
      redis.fault("authorities", "is of use with TLS only: begin the url with rediss://");
    }
    return new StoreSettings.Redis(
        url,
        password.isBlank() ? null : password,
        authorities.isBlank() ? null : Path.of(authorities),
        redis.name("prefix"),
        bounded(redis, "connect-timeout"),
        bounded(redis, "timeout"),
        redis.count("connections", 1, 10_000),
        redis.duration("retry"));
  }

  private static Duration bounded(ConfigSection redis, String key) {
    Duration value = redis.duration(key);
    if (value.compareTo(LONGEST_WAIT) > 0 || value.toMillis() == 0) {
      redis.fault(key, "has to be from 1 ms to 1 m: requests wait for it");
    }
    return value;
  }
}
