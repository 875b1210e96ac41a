package io.kvasir.sim.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.sim.json.EngineApiException;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class SchemaExampleTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Each with what any value of it is written like. */
  @ParameterizedTest
  @CsvSource(delimiterString = " ~ ", quoteCharacter = '`', value = {
      "{'type':'integer','minimum':3,'maximum':5} ~ [345]",
      "{'type':'integer','exclusiveMinimum':3,'exclusiveMaximum':5} ~ 4",
      "{'type':'integer','minimum':3,'exclusiveMinimum':true,'maximum':4} ~ 4",
      "{'type':'integer','multipleOf':7,'minimum':15} ~ 21|28|35|42|49|56|63|70|77",
      "{'type':'integer','maximum':-3} ~ -3",
      "{'type':'number','minimum':0.1,'maximum':0.2} ~ 0\\.15",
      "{'type':'number','exclusiveMinimum':1,'maximum':1.5} ~ 1\\.5",
      "{'minimum':8,'maximum':8} ~ 8\\.0",
      "{'type':'boolean'} ~ true|false",
      "{'type':'null'} ~ null",
      "{'type':['null','boolean']} ~ true|false",
      "{'const':{'a':[1]}} ~ \\{'a': \\[1\\]\\}",
      "{'enum':['x',2,null]} ~ 'x'|2|null",
      "{'type':'string','minLength':30,'maxLength':33} ~ '[a-z ]{30,33}'",
      "{'type':'string','maxLength':2} ~ '[a-z]{2}'",
      "{'type':'string','maxLength':0} ~ ''",
      "{'type':'string','pattern':'^\\\\d{3}-[A-Z]+$','minLength':6} ~ '\\d{3}-[A-Z]{2,}'",
      "{'type':'string','format':'date'} ~ '\\d{4}-\\d\\d-\\d\\d'",
      "{'type':'string','format':'date-time'} ~ '\\d{4}-\\d\\d-\\d\\dT[\\d:]+Z'",
      "{'type':'string','format':'uuid'} ~ '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'",
      "{'type':'string','format':'email'} ~ '[a-z]+@example.com'",
      "{'type':'array','items':{'const':1}} ~ \\[1\\]",
      "{'type':'array','items':{'const':1},'minItems':3} ~ \\[1, 1, 1\\]",
      "{'type':'array','maxItems':0} ~ \\[\\]",
      "{'type':'array','items':{'enum':[1,2,3]},'uniqueItems':true,'minItems':3} ~ \\[(?!.*(\\d).*\\1)\\d, \\d, \\d\\]",
      "{'type':'array','prefixItems':[{'const':1},{'const':2}],'items':false} ~ \\[1, 2\\]",
      "{'type':'object','properties':{'a':{'const':1},'b':{'const':2}},'required':['b']} ~ \\{'b': 2\\}",
      "{'type':'object','properties':{'a':{'const':1},'b':{'const':2}},'minProperties':1} ~ \\{'a': 1\\}",
      "{'required':['a'],'additionalProperties':{'const':1}} ~ \\{'a': 1\\}",
      "{'properties':{'a':{'const':1}}} ~ \\{\\}",
      "{'$ref':'#/$defs/A','$defs':{'A':{'const':1}}} ~ 1",
      "{'$ref':'#/definitions/a~1b','definitions':{'a/b':{'const':1}}} ~ 1",
      "{'anyOf':[{'type':'null'},{'const':4}]} ~ 4",
      "{'anyOf':[{'type':'null'}]} ~ null",
      "{'oneOf':[{'$ref':'#/$defs/A'}],'$defs':{'A':{'const':1}}} ~ 1",
      "{'allOf':[{'properties':{'a':{'const':1}},'required':['a']},{'properties':{'b':{'const':2}},'required':['b']}]} "
          + "~ \\{'a': 1, 'b': 2\\}",
  })
  void value_isAllowedByItsSchema(String schema, String pattern) throws Exception {
    for (int seed = 0; seed < 40; seed++) {
      String written = JsonDumps.write(SchemaExample.of(read(schema), seed), true);

      assertThat(written).matches(pattern.replace('\'', '"'));
      assertThat(JSON.readTree(written)).isNotNull();
    }
  }

  /** A tree's node has nodes in it, which have none. */
  @Test
  void whatNestsInItself_ends() throws Exception {
    JsonNode schema = read("{'$ref':'#/$defs/Node','$defs':{'Node':{'properties':{'next':{'anyOf':"
        + "[{'$ref':'#/$defs/Node'},{'type':'null'}]},'all':{'type':'array','items':{'$ref':'#/$defs/Node'}}},"
        + "'required':['next','all']}}}");

    assertThat(SchemaExample.of(schema, 1).toString()).hasSizeLessThan(1000).contains("\"next\":null");
  }

  @Test
  void values_differByTheirSeed_only() throws Exception {
    JsonNode schema = read("{'type':'string'}");
    Set<String> made = new HashSet<>();
    for (int seed = 0; seed < 50; seed++) {
      made.add(SchemaExample.of(schema, seed).asText());
      assertThat(SchemaExample.of(schema, seed)).isEqualTo(SchemaExample.of(schema, seed));
    }
    assertThat(made).hasSizeGreaterThan(40);
  }

  @ParameterizedTest
  @ValueSource(strings = {
      "{'type':'odd'}", "{'$ref':'#/$defs/none'}", "{'$ref':'#'}", "{'enum':[]}", "false",
      "{'type':'integer','minimum':3,'maximum':2}", "{'type':'string','minLength':3,'maxLength':2}",
      "{'type':'string','pattern':'(?<!a)b\\\\1'}",
      "{'type':'array','items':{'const':1},'uniqueItems':true,'minItems':2}",
      "{'properties':{'a':{'$ref':'#'}},'required':['a']}", "{'type':'string','pattern':'((a{999}){999}){999}'}",
      "{'items':{'items':{'items':{'const':1},'minItems':999},'minItems':999},'minItems':999}",
      "{'type':'string','pattern':'(a|a){40}^b'}", "{'type':'number','minimum':1e999}",
      "{'items':{'type':'string','minLength':90000},'minItems':999}"})
  void schemaThatNothingFulfils_isRefused(String schema) throws Exception {
    JsonNode read = read(schema);

    assertThatThrownBy(() -> SchemaExample.of(read, 1))
        .isInstanceOf(EngineApiException.class).hasMessageStartingWith("The simulated engine cannot");
  }

  @Test
  void partsThatReferToOneAnotherTwice_areRefused() throws Exception {
    StringBuilder parts = new StringBuilder("'p20':{'const':1}");
    for (int i = 0; i < 20; i++) {
      parts.append(",'p%d':{'allOf':[{'$ref':'#/p%d'},{'$ref':'#/p%d'}]}".formatted(i, i + 1, i + 1));
    }
    JsonNode schema = read("{'$ref':'#/p0'," + parts + "}");

    assertThatThrownBy(() -> SchemaExample.of(schema, 1))
        .isInstanceOf(EngineApiException.class).hasMessageContaining("more than");
  }

  private static JsonNode read(String schema) throws Exception {
    return JSON.readTree(schema.replace('\'', '"'));
  }
}
