package io.kvasir.answers;

import static io.kvasir.answers.TestAnswers.CHAT;
import static io.kvasir.answers.TestAnswers.JSON;
import static io.kvasir.answers.TestAnswers.bytes;
import static io.kvasir.answers.TestAnswers.cache;
import static io.kvasir.answers.TestAnswers.chat;
import static io.kvasir.answers.TestAnswers.memory;
import static io.kvasir.answers.TestAnswers.miss;
import static io.kvasir.answers.TestAnswers.request;
import static io.kvasir.answers.TestAnswers.requestOf;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.answers.AnswerSettings.StoreSettings;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which requests are the same, which may be answered, and for how long. */
final class AnswerCacheTest {
  private static final String BODY = """
      {"model":"m","temperature":0,"max_tokens":16,"messages":[{"role":"user","content":"Hé\\n1.0"}],
       "stream":false,"logit_bias":{"5":1,"6":2},"tools":[{"type":"function","function":{"name":"f",
       "parameters":{"a":{"default":1.0},"b":{}}}}]}""";

  @ParameterizedTest
  @ValueSource(
      strings = {
        // Blanks, escapes, order, numbers: where an engine reads by name.
        """
        { "tools" : [{"type":"function","function":{"name":"f","parameters":{"a":{"default":1.0},"b":{}}}}],
          "stream":false, "temperature":0.0, "max_tokens":1.6e1, "logit_bias":{"6":2.0,"5":1},
          "messages":[{"content":"H\\u00e9\\u000a1.0","role":"user"}], "model":"m" }""",
        """
        {"model":"m","temperature":-0.0,"max_tokens":16.00,"messages":[{"role":"user","content":"Hé\\n1.0"}],
         "stream":false,"logit_bias":{"5":1,"6":2},"user":"nobody asks","tools":[{"type":"function",
         "function":{"name":"f","parameters":{"a":{"default":1.00},"b":{}}}}]}"""
      })
  void sameMeaning_isTheSameRequest(String other) throws IOException {
    try (AnswerCache cache = cache(memory())) {
      assertThat(miss(cache.lookUp(request(CHAT, other))).key())
          .isEqualTo(miss(cache.lookUp(request(CHAT, BODY))).key());
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "\"max_tokens\":16 | \"max_tokens\":17",
        "\"max_tokens\":16 | \"max_tokens\":16.5",
        "\"max_tokens\":16 | \"max_tokens\":\"16\"",
        "\"max_tokens\":16, | ''",
        "\"temperature\":0 | \"temperature\":0,\"seed\":1",
        "\"temperature\":0 | \"temperature\":0,\"cache_salt\":\"s\"",
        "\"temperature\":0 | \"temperature\":0,\"a_field_of_tomorrow\":null",
        "\"stream\":false | \"stream\":true",
        "\"user\",\"content\" | \"system\",\"content\"",
        "1.0\"} | 1.00\"}",
        "\"5\":1,\"6\":2 | \"5\":2,\"6\":1",
        "\"name\":\"f\" | \"name\":\"g\"",
        // What a template prints as it stands: its order and its numbers are part of the prompt.
        "\"default\":1.0 | \"default\":1",
        "\"a\":{\"default\":1.0},\"b\":{} | \"b\":{},\"a\":{\"default\":1.0}"
      })
  void anotherMeaning_isAnotherRequest(String part, String instead) throws IOException {
    String body = BODY.replace("\n ", "");
    String other = body.replace(part, instead);
    assertThat(other).isNotEqualTo(body);
    try (AnswerCache cache = cache(memory())) {
      assertThat(miss(cache.lookUp(request(CHAT, other))).key())
          .isNotEqualTo(miss(cache.lookUp(request(CHAT, body))).key());
    }
  }

  @Test
  void ownerModelProfilePathQueryAndHeaders_tellRequestsApart() throws IOException {
    AnswerRequest one = request(CHAT, BODY);
    var body = one.body();
    var none = one.header();
    List<AnswerRequest> others = List.of(
        one,
        new AnswerRequest(CHAT, "", "t", "another key of the same name", "m", "p", none, body),
        new AnswerRequest(CHAT, "", "u", "key t", "m", "p", none, body),
        new AnswerRequest(CHAT, "", "t", "key t", "n", "p", none, body),
        new AnswerRequest(CHAT, "", "t", "key t", "m", "q", none, body),
        new AnswerRequest("/v1/completions", "", "t", "key t", "m", "p", none, body),
        new AnswerRequest(CHAT, "v=1", "t", "key t", "m", "p", none, body),
        // Parts that would be the same, written one after the other.
        new AnswerRequest(CHAT, "", "tm", "key t", "", "p", none, body),
        new AnswerRequest(CHAT, "", "t", "key t", "mp", "", none, body),
        request(CHAT, BODY, "Anthropic-Version", "2023-06-01"),
        request(CHAT, BODY, "Anthropic-Version", ""));
    try (AnswerCache cache = cache(memory())) {
      assertThat(others).extracting(other -> miss(cache.lookUp(other)).key()).doesNotHaveDuplicates();
      assertThat(miss(cache.lookUp(request(CHAT, BODY, "User-Agent", "x"))).key())
          .isEqualTo(miss(cache.lookUp(one)).key());
    }
  }

  @Test
  void randomRequestsOfManyTenants_neverMeet() throws IOException {
    Random random = new Random(7);
    List<String> tenants = List.of("", "a", "b", "key-1", "key-11", "1", "a\u0000", "A");
    try (AnswerCache cache = cache(memory())) {
      int hits = 0;
      for (int i = 0; i < 20_000; i++) {
        String tenant = tenants.get(random.nextInt(tenants.size()));
        String body =
            "{\"temperature\":0,\"messages\":[{\"content\":\"" + random.nextInt(200) + "\"}],"
                + "\"cache_salt\":\"" + random.nextInt(2) + "\"}";
        String own = chat(tenant.replace('\u0000', '0') + " asked " + body.replace('"', '\''));
        switch (cache.lookUp(requestOf(tenant, CHAT, body))) {
          case Lookup.Hit hit -> {
            hits++;
            assertThat(hit.answer().body()).isEqualTo(bytes(own));
          }
          case Lookup.Miss miss -> cache.put(miss, JSON, bytes(own));
          case Lookup.Bypassed passed -> throw new AssertionError(passed);
        }
        if (random.nextInt(500) == 0) {
          cache.flush(tenants.get(random.nextInt(tenants.size())), null);
        }
      }
      assertThat(hits).isGreaterThan(5_000);
    } catch (StoreUnavailableException e) {
      throw new AssertionError(e);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "/v1/chat/completions | {'temperature':0} | -",
        "/v1/chat/completions | {'temperature':0.0} | -",
        "/v1/chat/completions | {'temperature':0.7,'seed':3} | -",
        "/v1/chat/completions | {} | SAMPLED",
        "/v1/chat/completions | {'temperature':'0'} | SAMPLED",
        "/v1/chat/completions | {'temperature':0.7,'seed':null} | SAMPLED",
        "/v1/chat/completions | {'temperature':0,'n':1} | -",
        "/v1/chat/completions | {'temperature':0,'n':2} | SEVERAL",
        "/v1/completions | {'seed':1,'best_of':2} | SEVERAL",
        "/v1/completions | {'seed':1,'kv_transfer_params':{}} | STATEFUL",
        "/v1/chat/completions | {'temperature':0,'store':true} | STATEFUL",
        "/v1/responses | {'temperature':0} | STATEFUL",
        "/v1/responses | {'temperature':0,'store':false} | -",
        "/v1/responses | {'temperature':0,'store':false,'previous_response_id':'r'} | STATEFUL",
        "/v1/responses | {'temperature':0,'store':false,'background':true} | STATEFUL",
        "/v1/responses | {'temperature':0,'store':false,'tools':[{'type':'web_search'}]} | SIDE_EFFECTS",
        "/v1/responses | {'temperature':0,'store':false,'tools':[{'type':'function','name':'look'}]} | -",
        "/v1/messages | {'temperature':0} | -",
        "/v1/messages | {} | SAMPLED",
        "/v1/messages | {'temperature':0,'tools':[{'name':'send_mail','input_schema':{}}]} | SIDE_EFFECTS",
        "/v1/messages | {'temperature':0,'tools':[{'name':'read_mail','input_schema':{}}]} | -",
        "/v1/messages | {'temperature':0,'mcp_servers':[{}]} | SIDE_EFFECTS",
        "/v1/chat/completions | {'seed':1,'tools':[{'type':'function','function':{'name':'f'}}]} | -",
        "/v1/chat/completions | {'seed':1,'tools':[{'type':'function','function':{'name':'send_'}}]} | SIDE_EFFECTS",
        "/v1/chat/completions | {'seed':1,'functions':[{'name':'send_x'}]} | SIDE_EFFECTS",
        "/v1/chat/completions | {'seed':1,'tools':[{'type':'function','function':{'name':'f','annotations':"
            + "{'destructiveHint':true}}}]} | SIDE_EFFECTS",
        "/v1/chat/completions | {'seed':1,'tools':[{'type':'function','annotations':{'readOnlyHint':false},"
            + "'function':{'name':'f'}}]} | SIDE_EFFECTS",
        "/v1/chat/completions | {'seed':1,'tools':[{'type':'function','annotations':{'readOnlyHint':true},"
            + "'function':{'name':'f'}}]} | -",
        "/v1/embeddings | {'input':'x'} | -",
        "/v1/rerank | {'query':'x'} | -",
        "/v2/rerank | {'query':'x'} | -",
        "/v1/audio/speech | {'temperature':0} | API"
      })
  void eligibility(String path, String body, String expected) throws IOException {
    try (AnswerCache cache = cache(memory())) {
      Lookup lookup = cache.lookUp(request(path, body.replace('\'', '"')));
      if (expected.equals("-")) {
        miss(lookup);
      } else {
        assertThat(lookup).isEqualTo(new Lookup.Bypassed(Bypass.valueOf(expected)));
      }
    }
  }

  @Test
  void sampledProfiles_areAnsweredHoweverTheySample() throws IOException {
    AnswerRequest one = request(CHAT, "{\"temperature\":1}");
    try (AnswerCache cache = cache(memory())) {
      assertThat(cache.lookUp(one)).isEqualTo(new Lookup.Bypassed(Bypass.SAMPLED));
      miss(cache.lookUp(new AnswerRequest(CHAT, "", "t", "key t", "m", "batch", one.header(), one.body())));
    }
  }

  @Test
  void cacheControl_isHeeded() throws IOException {
    TestAnswers.Clock clock = new TestAnswers.Clock();
    String body = "{\"temperature\":0}";
    try (AnswerCache cache = cache(memory(), clock)) {
      cache.put(miss(cache.lookUp(request(CHAT, body))), JSON, bytes(chat("one")));
      clock.pass(Duration.ofSeconds(90));

      assertThat(cache.lookUp(request(CHAT, body)))
          .isInstanceOfSatisfying(Lookup.Hit.class, hit -> assertThat(hit.ageSeconds()).isEqualTo(90));
      assertThat(cache.lookUp(request(CHAT, body, "Cache-Control", "max-age=90"))).isInstanceOf(Lookup.Hit.class);
      assertThat(miss(cache.lookUp(request(CHAT, body, "Cache-Control", "max-age=89"))).refresh()).isFalse();
      assertThat(miss(cache.lookUp(request(CHAT, body, "Cache-Control", "max-age=0"))).refresh()).isTrue();
      assertThat(cache.lookUp(request(CHAT, body, "Cache-Control", "foo, No-Store")))
          .isEqualTo(new Lookup.Bypassed(Bypass.NO_STORE));

      Lookup.Miss refresh = miss(cache.lookUp(request(CHAT, body, "Cache-Control", "no-cache")));
      assertThat(refresh.refresh()).isTrue();
      cache.put(refresh, JSON, bytes(chat("two")));
      assertThat(cache.lookUp(request(CHAT, body)))
          .isInstanceOfSatisfying(
              Lookup.Hit.class, hit -> assertThat(hit.answer().body()).isEqualTo(bytes(chat("two"))));
    }
  }

  @Test
  void answers_growOld() throws IOException {
    TestAnswers.Clock clock = new TestAnswers.Clock();
    AnswerRequest request = request(CHAT, "{\"temperature\":0}");
    try (AnswerCache cache = cache(memory(), clock)) {
      cache.put(miss(cache.lookUp(request)), JSON, bytes(chat("one")));
      clock.pass(Duration.ofMinutes(59));
      assertThat(cache.lookUp(request)).isInstanceOf(Lookup.Hit.class);
      clock.pass(Duration.ofMinutes(1));
      miss(cache.lookUp(request));
    }
  }

  @Test
  void flush_meansWhatIsNamed_andWhatIsOnItsWay() throws Exception {
    try (AnswerCache cache = cache(memory())) {
      List<AnswerRequest> requests = new ArrayList<>();
      for (String tenant : List.of("a", "b")) {
        for (String model : List.of("m", "n")) {
          AnswerRequest one = requestOf(tenant, CHAT, "{\"seed\":1}");
          requests.add(
              new AnswerRequest(CHAT, "", tenant, one.owner(), model, "p", one.header(), one.body()));
        }
      }
      for (AnswerRequest request : requests) {
        cache.put(miss(cache.lookUp(request)), JSON, bytes(chat("x")));
      }
      Lookup.Miss onItsWay = miss(cache.lookUp(requestOf("a", CHAT, "{\"seed\":2}")));

      assertThat(cache.flush("a", "m")).hasValue(1);
      miss(cache.lookUp(requests.get(0)));
      assertThat(cache.lookUp(requests.get(1))).isInstanceOf(Lookup.Hit.class);
      cache.put(onItsWay, JSON, bytes(chat("from before")));
      miss(cache.lookUp(requestOf("a", CHAT, "{\"seed\":2}")));

      assertThat(cache.flush(null, "n")).hasValue(2);
      assertThat(cache.lookUp(requests.get(2))).isInstanceOf(Lookup.Hit.class);
      assertThat(cache.flush(null, null)).hasValue(1);
      assertThat(cache.stats().store().entries()).hasValue(0);
    }
  }

  @Test
  void memory_keepsWithinItsBytes() throws IOException {
    AnswerSettings small = TestAnswers.settings(new StoreSettings.Memory(1 << 20), 64 << 10, 1 << 20, false, 1);
    try (AnswerCache cache = cache(small)) {
      for (int i = 0; i < 100; i++) {
        String long50 = chat("x".repeat(50 << 10));
        cache.put(miss(cache.lookUp(request(CHAT, "{\"seed\":" + i + "}"))), JSON, bytes(long50));
      }
      assertThat(cache.stats().store().entries().orElse(0)).isBetween(10L, 20L);
      assertThat(cache.stats().store().bytes().orElse(0)).isBetween(500_000L, 1L << 20);

      cache.put(miss(cache.lookUp(request(CHAT, "{\"seed\":-1}"))), JSON, bytes(chat("x".repeat(65 << 10))));
      miss(cache.lookUp(request(CHAT, "{\"seed\":-1}")));
    }
  }

  @Test
  void entry_takesNoMoreThanItsAnswer_howeverLongTheRequest() throws IOException {
    String prompt = "x".repeat(3 << 20);
    try (AnswerCache cache = cache(memory())) {
      Lookup.Miss miss = miss(cache.lookUp(request(CHAT, "{\"seed\":1,\"messages\":\"" + prompt + "\"}")));
      cache.put(miss, JSON, bytes(chat("short")));
      assertThat(cache.stats().store().entries()).hasValue(1);
      assertThat(cache.stats().store().bytes().orElse(-1)).isBetween(100L, 2000L);
      StoredAnswer answer = new StoredAnswer(JSON, bytes(chat("short")), Instant.EPOCH);
      assertThat(answer.encoded(miss.key())).hasSizeLessThan(2000);
    }
  }

  @Test
  void storedAnswer_isRead_onlyForTheRequestItAnswers() throws IOException {
    try (AnswerCache cache = cache(memory())) {
      AnswerKey key = miss(cache.lookUp(request(CHAT, "{\"seed\":1}"))).key();
      StoredAnswer answer = new StoredAnswer(JSON, bytes(chat("one")), Instant.EPOCH);
      byte[] encoded = answer.encoded(key);
      StoredAnswer decoded = Objects.requireNonNull(StoredAnswer.decoded(encoded, key));
      assertThat(decoded.body()).isEqualTo(answer.body());
      assertThat(decoded.contentType()).isEqualTo(JSON);
      assertThat(decoded.storedAt()).isEqualTo(Instant.EPOCH);

      assertThat(StoredAnswer.decoded(encoded, miss(cache.lookUp(request(CHAT, "{\"seed\":2}"))).key())).isNull();
      for (int length = 0; length < encoded.length - answer.body().length; length++) {
        assertThat(StoredAnswer.decoded(Arrays.copyOf(encoded, length), key)).isNull();
      }
      encoded[0] = 1;
      assertThat(StoredAnswer.decoded(encoded, key)).as("of an earlier format").isNull();
    }
  }

  @Test
  void unpairedSurrogates_tellRequestsApart() throws IOException {
    try (AnswerCache cache = cache(memory())) {
      assertThat(miss(cache.lookUp(request(CHAT, "{\"seed\":1,\"prompt\":\"\\ud800\"}"))).key())
          .isNotEqualTo(miss(cache.lookUp(request(CHAT, "{\"seed\":1,\"prompt\":\"\\ud801\"}"))).key());
    }
  }
}
