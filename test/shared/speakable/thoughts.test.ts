import { speakable, speakableAnswer, withoutThoughts } from "../../../shared/speakable/speakable-text.ts";

/** What a filter gives of a text that comes in these pieces. */
const inPieces = (filter: ReturnType<typeof withoutThoughts>, pieces: readonly string[]): string =>
  [...pieces.map((piece) => filter.push(piece)), filter.end()].join("");

describe("what a model writes for itself", () => {
  test.each([
    ["<thinking>They owe 400. Do not tell them.</thinking>Shall I confirm?", "Shall I confirm?"],
    ["<THINK>a</THINK>Hello", "Hello"],
    ["<think>a</think><think>b</think>Hello", "Hello"],
    ["Sure. <think>a</think> Let me see. <thought>b</thought>Done.", "Sure. Let me see. Done."],
    ["<think >a</ think>Hello", "Hello"],
    ['<thinking budget="3">a</thinking>Hello', "Hello"],
    ["<think/>Hello", "Hello"],
    ["<think></think>Hello", "Hello"],
    ["[THINK]a[/THINK]Hello", "Hello"],
    ["◁think▷a◁/think▷Hello", "Hello"],
    ["<reasoning>a</reasoning>Hello", "Hello"],
    ["<reflection>a</reflection>Hello", "Hello"],
    ["<analysis>a</analysis><answer>Hello</answer>", "Hello"],
    ["<thinking>a<reflection>b</reflection>c</thinking><output>Hello</output>", "Hello"],
    ["<seed:think>a</seed:think>Hello", "Hello"],
    ["<longcat_think>a</longcat_think>Hello", "Hello"],
    ["<inner_monologue>a</inner_monologue>Hello", "Hello"],
    ["&lt;think&gt;a&lt;/think&gt;Hello", "Hello"],
    ["<th\u200Bink>a</think>Hello", "Hello"],
    ["<think>a <think>b</think> c</think>Hello", "Hello"],
    ["<think>I put it in <think> tags.</think>Hello", "Hello"],
    ["<thinking>a</think>Hello", "Hello"],
    ["Hello. <think>never at an end", "Hello."],
    ["Hello.</think>", "Hello."],
    ["<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>Hello<|return|>", "Hello"],
    ["<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>", ""],
    ["<|channel|>final<|message|>Hello", "Hello"],
    ["analysisWe need to greet them.assistantfinalHello", "Hello"],
    ["analysis of your order is done", "analysis of your order is done"],
    ["<|channel>thought\na\n<channel|>Hello", "Hello"],
    ["<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>Hello<|END_RESPONSE|>", "Hello"],
    ["<|begin_of_thought|>a<|end_of_thought|><|begin_of_solution|>Hello<|end_of_solution|>", "Hello"],
    ["<|inner_prefix|>a<|inner_suffix|>Hello", "Hello"],
    ["<|think|>a<|end|><|begin|>assistant<|content|>Hello<|end|>", "Hello"],
    ["<unused94>thought\na<unused95>Hello", "Hello"],
    ["Here are my reasoning steps:\na\n[BEGIN FINAL RESPONSE]\nHello\n[END FINAL RESPONSE]\n<|end|>", "Hello"],
    ["Here is my thought process: a Here is my response: Hello", "Hello"],
    ["Here's my thought process:\na\nHere's my response:\nHello", "Hello"],
    ["Thought: I know the day.\nFinal Answer: Hello", "Hello"],
    ["Here is my number: 5", "Here is my number: 5"],
    ["Thoughtful of you", "Thoughtful of you"],
    ["<|im_start|>assistant Hello.", "Hello."],
    ["<|im_start|>assistant\nHello.<|im_end|>", "Hello."],
    ["Hello.<|im_end|>\n<|im_start|>user\nYes.<|im_end|>\n<|im_start|>assistant\nFine.", "Hello. Fine."],
    ["<|start_header_id|>assistant<|end_header_id|>\n\nHello<|eot_id|>", "Hello"],
    ["<start_of_turn>model\nHello<end_of_turn>", "Hello"],
    ["<|turn>model\nHello<turn|>", "Hello"],
    ["<|assistant|>Hello<|user|>Yes", "Hello"],
    ["<｜Assistant｜>Hello<｜end▁of▁sentence｜>", "Hello"],
    ["<s>[INST]Hello[/INST]</s>", "Hello"],
    ["<|endoftext|>", ""],
    ["【重要】 and [think twice] and <thanks>", "【重要】 and [think twice] and"],
  ])("is not said: %j", (text, said) => {
    expect(speakable(text)).toBe(said);
    expect(inPieces(speakableAnswer(), [...text]).replace(/\s+/g, " ")).toBe(said);
  });

  test("is not kept either, and the rest is kept as it was written", () => {
    const kept = (...pieces: string[]): string => inPieces(withoutThoughts(), pieces);
    expect(kept("\n<thi", "nk>a</", "think>", "\n\n", "**Hello**", " there")).toBe("**Hello** there");
    expect(kept("Hello<think>a</think>there")).toBe("Hello there");
    expect(kept("<", "b>Hello")).toBe("<b>Hello");
    expect(kept("<think>never at an end")).toBe("");
    const called = '<|tool_call>call:f{}<tool_call|><｜tool▁calls▁begin｜>{"name": "f"}<|python_tag|>f()';
    expect(kept(called)).toBe(called);
    expect(speakable(`Yes. ${called}`)).toBe('Yes. call:f{} {"name": "f"} f()');
  });
});
