package io.kvasir.prompt;

import com.dynatrace.hash4j.hashing.HashValue128;
import com.dynatrace.hash4j.hashing.Hasher128;
import com.dynatrace.hash4j.hashing.Hashing;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.kvasir.prompt.PrefixMemo.Tokens;
import java.io.IOException;
import java.time.InstantSource;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Asks an engine for a prompt's tokens, and remembers what it said by the whole question. After a failure it is left
 * alone for a while, twice as long after each further one, so that an engine that does not answer costs its deadline
 * once and not with every request. Thread-safe.
 */
final class CachingEngineTokenizer {
  private static final long MAX_BYTES = 64L << 20;
  /** In milliseconds. */
  private static final long FIRST_BACKOFF = 250;
  private static final int MAX_DOUBLINGS = 7;

  private final EngineTokenizer engine;
  private final InstantSource clock;
  private final Hasher128 hasher = Hashing.xxh3_128(RandomGenerator.of("SecureRandom").nextLong());
  private final Cache<HashValue128, Tokens> answers = Caffeine.newBuilder()
      .maximumWeight(MAX_BYTES)
      .weigher((HashValue128 key, Tokens tokens) -> 128 + Long.BYTES * tokens.chain().length())
      .build();
  private volatile long backoffUntil;
  private volatile int failures;

  CachingEngineTokenizer(EngineTokenizer engine, InstantSource clock) {
    this.engine = engine;
    this.clock = clock;
  }

  /** The tokens of {@code question}, null when the engine does not tell. */
  @Nullable Tokens tokens(BlockNamespace namespace, String question) {
    HashValue128 key = hasher.hashStream().putString(namespace.id()).putString(question).get();
    Tokens known = answers.getIfPresent(key);
    if (known != null) {
      return new Tokens(known.chain(), known.tokens(), known.tokens());
    }
    if (failures > 0 && clock.millis() < backoffUntil) {
      return null;
    }
    try {
      Tokens tokens = PrefixMemo.ofIds(namespace, engine.tokenize(question));
      failures = 0;
      answers.put(key, tokens);
      return tokens;
    } catch (IOException | RuntimeException e) {
      int doublings = Math.min(failures, MAX_DOUBLINGS);
      backoffUntil = clock.millis() + (FIRST_BACKOFF << doublings);
      failures = doublings + 1;
      return null;
    }
  }

  /** What the engine says to {@code question}, whatever it said before. */
  int[] tokenize(String question) throws IOException {
    return engine.tokenize(question);
  }

  /** The question for {@code text}, in vLLM's form, which SGLang understands too. */
  static String requestBody(String model, PromptSource.Text text) {
    return JsonNodeFactory.instance.objectNode()
        .put("model", model)
        .put("prompt", text.text())
        .put("add_special_tokens", text.addSpecialTokens())
        .toString();
  }

  /** The question for a conversation. */
  static String requestBody(String model, ObjectNode chat, boolean addSpecialTokens) {
    ObjectNode question = chat.objectNode().put("model", model);
    for (String field : new String[] {"messages", "tools", "chat_template_kwargs", "documents", "tool_choice"}) {
      if (chat.hasNonNull(field)) {
        question.set(field, chat.get(field));
      }
    }
    if (chat.hasNonNull("reasoning_effort")) {
      ObjectNode kwargs = chat.objectNode();
      kwargs.set("reasoning_effort", chat.get("reasoning_effort"));
      if (chat.get("chat_template_kwargs") instanceof ObjectNode given) {
        kwargs.setAll(given);
      }
      question.set("chat_template_kwargs", kwargs);
    }
    return question
        .put("add_generation_prompt", chat.path("add_generation_prompt").asBoolean(true))
        .put("continue_final_message", chat.path("continue_final_message").asBoolean(false))
        .put("add_special_tokens", addSpecialTokens)
        .toString();
  }
}
