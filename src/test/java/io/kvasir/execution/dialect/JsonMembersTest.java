package io.kvasir.execution.dialect;

import static java.nio.charset.StandardCharsets.UTF_16;
import static java.nio.charset.StandardCharsets.UTF_16BE;
import static java.nio.charset.StandardCharsets.UTF_16LE;
import static java.nio.charset.StandardCharsets.UTF_32;
import static java.nio.charset.StandardCharsets.UTF_32BE;
import static java.nio.charset.StandardCharsets.UTF_32LE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class JsonMembersTest {
  @Test
  void untouchedMembers_keepTheirBytes() {
    String body =
        """
        {  "temperature" : 0.70 , "a\\u0062c":"\\u00e9\\/\\"",
          "n":1e0,"deep":{ "x" : [1, 2.500,-0] },"none" : null , "s":"}{,:" }""";

    assertThat(of(body).with("stream", "false").toString())
        .isEqualTo(
            """
            {"temperature":0.70,"a\\u0062c":"\\u00e9\\/\\"","n":1e0,"deep":{ "x" : [1, 2.500,-0] },"none":null,\
            "s":"}{,:","stream":false}""");
  }

  @Test
  void with_setsInPlace_orAtTheEnd() {
    assertThat(of("{\"a\":1,\"b\":2}").with("a", "[3]").withText("c", "\"x\n")).hasToString(
        "{\"a\":[3],\"b\":2,\"c\":\"\\\"x\\n\"}");
    assertThat(JsonMembers.empty().with("a", "1")).hasToString("{\"a\":1}");
  }

  @Test
  void without_takesAway() {
    assertThat(of("{\"a\":1,\"b\":{},\"c\":\"\"}").without("b", "z")).hasToString("{\"a\":1,\"c\":\"\"}");
    assertThat(of("{\"a\":1}").without("a")).hasToString("{}");
  }

  @Test
  void escapedName_isTheSameName() {
    assertThat(of("{\"stre\\u0061m\":true}").with("stream", "false")).hasToString("{\"stre\\u0061m\":false}");
  }

  @Test
  void memberThatComesTwice_lastCounts() {
    assertThat(of("{\"n\":1,\"n\":2}").value("n").asInt()).isEqualTo(2);
    assertThat(of("{\"n\":1,\"n\":2}").without("n")).hasToString("{}");
  }

  @Test
  void values_areParsed() {
    JsonMembers members = of("{\"a\":{\"b\":[1]},\"z\":null,\"t\":\"x\"}");

    assertThat(members.value("a").path("b").path(0).asInt()).isEqualTo(1);
    assertThat(members.value("no").isMissingNode()).isTrue();
    assertThat(members.hasValue("z")).isFalse();
    assertThat(members.has("z")).isTrue();
    assertThat(members.object("t")).isNull();
    assertThat(members.object("a")).hasToString("{\"b\":[1]}");
    assertThat(members.json("a")).isEqualTo("{\"b\":[1]}");
  }

  @Test
  void whatIsNoObject_isRefused() {
    for (String wrong : new String[] {"", "[]", "1", "{\"a\":1", "{\"a\" 1}", "nonsense"}) {
      assertThat(JsonMembers.tryOf(wrong.getBytes(StandardCharsets.UTF_8))).as(wrong).isNull();
    }
    assertThatThrownBy(() -> of("[]")).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void jsonInAnotherEncoding_isNotRead() {
    for (Charset charset : List.of(UTF_16, UTF_16BE, UTF_16LE, UTF_32, UTF_32BE, UTF_32LE)) {
      byte[] body = "{\"model\":\"m\",\"n\":1}".getBytes(charset);
      assertThat(JsonMembers.isUtf8(body)).as(charset.name()).isFalse();
      assertThat(JsonMembers.tryOf(body)).as(charset.name()).isNull();
      assertThat(ClientRequest.of("/v1/completions", body)).as(charset.name()).isNull();
    }
    assertThat(of("\ufeff{\"n\":1}").with("n", "2")).hasToString("{\"n\":2}");
    assertThat(JsonMembers.isUtf8(new byte[] {'1'})).isTrue();
  }

  @Test
  void largeBodies_ofManyBytesPerCharacter_areCutRight() {
    Random random = new Random(5);
    for (int round = 0; round < 200; round++) {
      StringBuilder text = new StringBuilder();
      for (int i = random.nextInt(20_000); i > 0; i--) {
        text.append(new String[] {"x", "é", "漢", "🙂", "\\n", "\\\"", "{", "}"}[random.nextInt(8)]);
      }
      String body = "{\"messages\":[{\"content\":\"" + text + "\"}] ,\n \"max_tokens\":7,\"p\":\"" + text + "\"}";

      assertThat(of(body).with("max_tokens", "1").toString())
          .isEqualTo("{\"messages\":[{\"content\":\"" + text + "\"}],\"max_tokens\":1,\"p\":\"" + text + "\"}");
    }
  }

  private static JsonMembers of(String json) {
    return JsonMembers.of(json.getBytes(StandardCharsets.UTF_8));
  }
}
