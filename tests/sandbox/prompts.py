"""Twenty prompts as people write them."""
# ruff: noqa: RUF001 - letters that look alike are what these texts are for

PROMPTS = {
    "plain": "A lighthouse in fog at dawn, seen from a small wooden boat",
    "one word": "Fox",
    "one letter": "x",
    "long": "A slow dolly shot through a sunlit greenhouse, mist drifting between the leaves, " * 12,
    "one long word": "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
    "no spaces at all": "ab" * 600,
    "emoji": "🦊🌊✨ a fox 👩‍🚀 and a family 👨‍👩‍👧‍👦 ❤️ 👍🏽 🇫🇷 5️⃣",
    "many emoji": "👨‍👩‍👧‍👦" * 1000,
    "quotes": 'She said: “It’s only a ‘test’”, and "left" — l\'été «déjà» <b>&amp;</b>',
    "newlines": "First line\nsecond line\r\n\n\n\tthird after a gap\u2028fourth",
    "Chinese": "清晨雾中的灯塔，海浪拍打着礁石，一只海鸥飞过。",
    "Japanese": "霧の朝の灯台、静かな海と小さな船。「カメラはゆっくり」",
    "Korean": "안개 낀 아침의 등대와 고요한 바다",
    "Arabic": "منارة في الضباب عند الفجر، لقطة مدتها 5 ثوانٍ 🌊 ABC",
    "Hebrew": "מגדלור בערפל עם שחר (2026), צילום רחב",
    "Russian": "Маяк в тумане на рассвете, широкий план, плёнка 35 мм",
    "Greek": "Φάρος στην ομίχλη την αυγή",
    "Hindi": "कोहरे में लाइटहाउस, प्रक्षिप्त प्रकाश",
    "Thai": "ประภาคารในหมอกยามเช้าและทะเลที่เงียบสงบ",
    "strange": "\u0000\u0007\u202eevil\u202c ᚠᚢᚦ কুয়াশা 𓂀 \ue005 \U0010ffff ́̂̃",
}
