package io.kvasir.load;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.load.CachePrediction.Verdict;
import io.kvasir.routing.PromptSize;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Conversations of one kind, each answer compared with what the router had predicted. Used once. */
final class TruthTraffic {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int SYSTEM_PROMPTS = 4;
  private static final int SYSTEM_CHARACTERS = 1500;
  private static final int LONG_CHARACTERS = 6000;
  private static final int CHARACTERS_A_TOKEN = 4;
  private static final int BRANCHES = 3;
  /** How much more than fits is asked for in turn. */
  private static final double OVERFLOW = 1.3;

  private final TruthTally tally;
  private final TruthRouter router;
  private final ChatClient client;
  private final Target target;
  private final BooleanSupplier over;
  private final AtomicInteger begun = new AtomicInteger();

  /**
   * What is asked.
   *
   * @param models the model first, its adapters after it
   * @param blockSize tokens in a KV block
   * @param cacheTokens what all engines' caches hold together; 0 where that is not known
   * @param pause of a client between an answer and its next turn
   * @param seed decides the prompts
   */
  record Target(
      List<String> models, int blockSize, long cacheTokens, Set<String> leaveOutZero, Duration pause, long seed) {}

  /** Traffic that has not begun, and ends when it is {@code over}. */
  TruthTraffic(TruthTally tally, TruthRouter router, ChatClient client, Target target, BooleanSupplier over) {
    this.tally = tally;
    this.router = router;
    this.client = client;
    this.target = target;
    this.over = over;
  }

  /** Requests to begin conversations that are more than fit into caches of so many tokens. */
  static long requestsToOverflow(long cacheTokens) {
    return (long) (OVERFLOW * cacheTokens * CHARACTERS_A_TOKEN / LONG_CHARACTERS);
  }

  /** Sends requests until it is over, {@code watch} running every 20 ms meanwhile. */
  void run(Runnable watch) throws InterruptedException {
    try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < tally.kind().clients(); i++) {
        Random random = new Random(target.seed() * 1_000_003 + tally.kind().name().hashCode() * 1000L + i);
        executor.execute(() -> converse(random));
      }
      executor.shutdown();
      while (!executor.awaitTermination(20, TimeUnit.MILLISECONDS)) {
        watch.run();
      }
    }
  }

  private void converse(Random random) {
    try {
      if (tally.kind() == TrafficKind.EVICTING) {
        overflow(random);
        return;
      }
      while (!isOver()) {
        switch (tally.kind()) {
          case BRANCHING -> branch(random);
          case TOOLS, MESSAGES, RESPONSES -> callTools(random);
          case SALTED -> {
            ArrayNode opening = opening(random, SYSTEM_CHARACTERS);
            for (String salt : List.of("", "tenant-a", "tenant-b")) {
              continued(opening, random.nextLong(), target.models().getFirst(), salt, tally.kind().turns());
            }
          }
          case LORA -> {
            ArrayNode opening = opening(random, SYSTEM_CHARACTERS);
            for (String model : target.models()) {
              continued(opening, random.nextLong(), model, "", tally.kind().turns());
            }
          }
          case MULTI_TURN, CONCURRENT, PREFILL_DECODE, RESTARTING, LOSSY, EVICTING ->
              continued(
                  opening(random, SYSTEM_CHARACTERS), random.nextLong(), target.models().getFirst(), "",
                  tally.kind().turns());
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** A conversation that goes on several times from the same turn. */
  private void branch(Random random) throws InterruptedException {
    String model = target.models().getFirst();
    ArrayNode trunk = continued(opening(random, SYSTEM_CHARACTERS), random.nextLong(), model, "", 2);
    for (int i = 0; i < BRANCHES; i++) {
      continued(trunk, random.nextLong(), model, "", tally.kind().turns() - 2);
    }
  }

  /** A conversation whose answers call a tool. */
  private void callTools(Random random) throws InterruptedException {
    AgentConversation conversation =
        AgentConversation.of(
            tally.kind(), target.models().getFirst(), system(random, SYSTEM_CHARACTERS), Words.text(random, 200));
    for (int turn = 0; turn < tally.kind().turns() && !isOver(); turn++) {
      if (turn > 0) {
        pause();
      }
      ChatClient.Answer answer = send(conversation.path(), conversation.body());
      if (answer == null) {
        return;
      }
      conversation.answered(answer.body(), random);
    }
  }

  /** Long conversations, more than fit, of which any is the next to go on: some are cached, some are not. */
  private void overflow(Random random) throws InterruptedException {
    long share = (long) (OVERFLOW * target.cacheTokens() / tally.kind().clients());
    List<ArrayNode> idle = new ArrayList<>();
    long tokens = 0;
    while (!isOver()) {
      boolean opens = tokens < share || idle.isEmpty();
      ArrayNode messages = opens ? opening(random, LONG_CHARACTERS) : idle.remove(random.nextInt(idle.size()));
      messages.addObject().put("role", "user").put("content", Words.text(random, 200));
      pause();
      int size = ask(target.models().getFirst(), "", messages);
      if (size > 0 && messages.size() <= 2 * tally.kind().turns()) {
        tokens += opens ? size : 0;
        idle.addLast(messages);
      } else {
        tokens -= opens ? 0 : size;
      }
    }
  }

  /** The messages with so many turns more. */
  private ArrayNode continued(ArrayNode from, long seed, String model, String salt, int turns)
      throws InterruptedException {
    Random random = new Random(seed);
    ArrayNode messages = from.deepCopy();
    for (int turn = 0; turn < turns && !isOver(); turn++) {
      if (turn > 0 || messages.size() > 1) {
        pause();
      }
      messages.addObject().put("role", "user").put("content", Words.text(random, 100 + random.nextInt(300)));
      if (ask(model, salt, messages) == 0) {
        break;
      }
    }
    return messages;
  }

  private ArrayNode opening(Random random, int characters) {
    ArrayNode messages = JSON.createArrayNode();
    messages.addObject().put("role", "system").put("content", system(random, characters));
    return messages;
  }

  /** A system prompt that some other conversations begin with, too; with long ones no other does. */
  private String system(Random random, int characters) {
    long which = characters == LONG_CHARACTERS ? random.nextLong() : random.nextInt(SYSTEM_PROMPTS);
    return Words.text(
        new Random(target.seed() * 31 + which * 101 + tally.kind().name().hashCode()), characters);
  }

  private void pause() throws InterruptedException {
    Thread.sleep(target.pause());
  }

  private boolean isOver() {
    return Thread.currentThread().isInterrupted() || over.getAsBoolean();
  }

  /** Sends the messages and adds the answer to them; returns the prompt's tokens, 0 when there is no answer. */
  private int ask(String model, String salt, ArrayNode messages) throws InterruptedException {
    ObjectNode body =
        JSON.createObjectNode().put("model", model).put("max_tokens", AgentConversation.ANSWER_TOKENS)
            .put("temperature", 0);
    body.set("messages", messages);
    if (!salt.isEmpty()) {
      body.put("cache_salt", salt);
    }
    ChatClient.Answer answer = send("/v1/chat/completions", body);
    if (answer == null) {
      return 0;
    }
    messages.add(answer.message());
    return Math.max(1, answer.promptTokens());
  }

  /** Sends a request and judges its answer; null when there is none. */
  private ChatClient.@Nullable Answer send(String path, ObjectNode body) throws InterruptedException {
    String id = "truth-%s-%d-%x".formatted(tally.kind(), begun.incrementAndGet(), System.nanoTime());
    String[] headers =
        tally.kind() == TrafficKind.PREFILL_DECODE
            ? new String[] {"X-Request-Id", id, "X-Router-Profile", "prefill-decode"}
            : new String[] {"X-Request-Id", id};
    long sent = System.nanoTime();
    try {
      ChatClient.Answer answer = client.ask(path, body, headers);
      if (answer.status() != 200) {
        tally.fail(answer.status() + " " + answer.body());
        return null;
      }
      tally.took(System.nanoTime() - sent);
      judge(id, answer, sent);
      return answer;
    } catch (IOException e) {
      tally.fail(e.toString());
      return null;
    }
  }

  private void judge(String id, ChatClient.Answer answer, long sent) throws IOException, InterruptedException {
    String prefill = answer.header("X-Router-Prefill-Backend");
    if (!prefill.isEmpty()) {
      judgePrefill(id, prefill, sent);
      return;
    }
    String reason = answer.header("X-Router-Reason");
    CachePrediction prediction = CachePrediction.parse(reason, target.blockSize()).orElse(null);
    String worker = answer.header("X-Router-Backend");
    // Anthropic's API has the figure only where there is one.
    boolean leftOut = target.leaveOutZero().contains(worker) || tally.kind() == TrafficKind.MESSAGES;
    boolean none = answer.cachedTokens() < 0 && answer.promptTokens() > 0 && leftOut;
    count(id, worker, prediction, answer.promptTokens(), none ? 0 : answer.cachedTokens(), sent);
  }

  /** What the prefill engine found is in no answer, but in the record of the decision. */
  private void judgePrefill(String id, String prefill, long sent) throws IOException, InterruptedException {
    JsonNode decision = router.decision(id);
    CachePrediction prediction = prediction(decision, prefill).orElse(null);
    count(id, prefill, prediction, decision.path("prompt_tokens").asInt(), reported(decision, prefill), sent);
  }

  private void count(
      String id, String worker, @Nullable CachePrediction prediction, int prompt, int cached, long sent)
      throws IOException, InterruptedException {
    Verdict verdict = prediction == null ? Verdict.UNREPORTED : prediction.verdict(cached);
    if (verdict == Verdict.OVER && router.isOvertaken(id, worker)) {
      verdict = Verdict.OVERTAKEN;
    }
    if (tally.add(worker, verdict, sent, prompt, cached)) {
      tally.explain(worker, verdict, TruthExplanation.of(id, worker, prediction, cached, router.decision(id)));
    }
  }

  private Optional<CachePrediction> prediction(JsonNode decision, String worker) {
    for (JsonNode step : decision.path("plan")) {
      if (step.path("worker").asText().equals(worker)) {
        return Optional.of(
            new CachePrediction(
                new PromptSize(decision.path("prompt_tokens").asInt(), target.blockSize()),
                decision.path("blocks").asInt(),
                step.path("depth").asInt(),
                CachePrediction.unconfirmed(decision.path("reason").asText()),
                step.path("cached_tokens").asInt()));
      }
    }
    return Optional.empty();
  }

  private static int reported(JsonNode decision, String worker) {
    List<Integer> found = new ArrayList<>();
    for (JsonNode outcome : decision.path("outcomes")) {
      if (outcome.path("worker").asText().equals(worker)) {
        found.add(outcome.path("cached_tokens").asInt(-1));
      }
    }
    return found.isEmpty() ? -1 : found.getLast();
  }
}
