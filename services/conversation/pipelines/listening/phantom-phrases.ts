/** Phrases with ; between them, over lines. */
const of = (phrases: string): readonly string[] => phrases.split(";").map((phrase) => phrase.trim());

/**
 * What recognisers write for noise and laughter, and people say, too: no wish to speak where it is said over our speech, and none at all
 * where the sound was far too long for it. Whole utterances only.
 */
export const DOUBTFUL_PHRASES: readonly string[] = of(
  `you; thanks; thank you; thank you so much; thank you very much; danke; danke schön; vielen dank; merci;
   merci beaucoup; gracias; muchas gracias; grazie; grazie mille; obrigado; obrigada; dank u wel; dank je wel;
   bedankt; धन्यवाद; शुक्रिया; dhanyavaad; ありがとうございました; おやすみなさい; 謝謝; 谢谢; спасибо; дякую; dziękuję; teşekkürler;
   teşekkür ederim; 감사합니다; 고맙습니다; شكرا; cảm ơn; terima kasih; tack; kiitos; děkuji; mulțumesc; ευχαριστώ;
   תודה רבה; vielen dank für die aufmerksamkeit; gracias por su atención; grazie per l'attenzione;
   спасибо за внимание; дякую за увагу; děkuji za pozornost; köszönöm a figyelmet; благодаря за вниманието;
   ďakujem za pozornosť; ευχαριστώ για την προσοχή; dziękuję za uwagę`,
);

/**
 * What recognisers write where nobody speaks, by language: the endings of the films that they were trained on. Whole utterances only; what
 * people do say to an agent ("thank you", "goodbye") is not among them.
 * Sources: https://github.com/openai/whisper/discussions/928, /1606, /1873 and /2608, https://github.com/Vexa-ai/vexa/issues/155 and /617,
 * https://github.com/PocketShell-io/pocketshell/issues/452, https://github.com/amicalhq/amical/issues/71,
 * https://huggingface.co/datasets/sachaarbonel/whisper-hallucinations.
 */
export const PHANTOM_PHRASES: Readonly<Record<string, readonly string[]>> = {
  en: of(
    `thank you for watching; thanks for watching; thanks for watching everyone; thank you so much for watching;
     thank you very much for watching; thank you for watching this video; thanks for watching this video;
     thanks for watching and see you next time; thanks for watching and i'll see you in the next video;
     thank you for listening; thanks for listening; please subscribe; please subscribe to my channel;
     please subscribe to the channel; subscribe to my channel; please like and subscribe; like and subscribe;
     like share and subscribe; don't forget to subscribe; don't forget to like and subscribe;
     don't forget to like share and subscribe; see you in the next video; see you next video;
     see you in the next one; i'll see you in the next video; i'll see you in the next one;
     hello everyone welcome to my channel; welcome to my channel; www mooji org`,
  ),
  de: of(
    `vielen dank fürs zuschauen; vielen dank für's zuschauen; vielen dank fürs zuhören; danke fürs zuschauen;
     danke fürs zusehen; bis zum nächsten mal; bis zum nächsten video; wir sehen uns im nächsten video;
     vergesst nicht zu abonnieren; abonniert den kanal; copyright wdr 2019; copyright wdr 2020; copyright wdr 2021;
     swr 2020; swr 2021`,
  ),
  fr: of(
    `merci d'avoir regardé cette vidéo; merci d'avoir regardé la vidéo; merci d'avoir regardé;
     merci d'avoir regardé cette vidéo et à bientôt; merci d'avoir visionné cette vidéo; abonnez vous;
     abonnez vous à la chaîne; abonnez vous à ma chaîne; n'oubliez pas de vous abonner;
     on se retrouve dans la prochaine vidéo; ❤️ par soustitreur com`,
  ),
  es: of(
    `gracias por ver el video; gracias por ver el vídeo; gracias por ver este video; gracias por ver;
     muchas gracias por ver el video; gracias por mirar; suscríbete; suscríbete al canal; suscríbete a mi canal;
     no olvides suscribirte; no olviden suscribirse; nos vemos en el próximo video; hasta el próximo video;
     más información www alimmenta com`,
  ),
  pt: of(
    `obrigado por assistir; obrigada por assistir; obrigado por assistir ao vídeo; obrigado por assistirem;
     obrigado por ver o vídeo; inscreva se no canal; se inscreva no canal; não se esqueça de se inscrever;
     deixe o seu like; até o próximo vídeo`,
  ),
  it: of(
    `grazie per aver guardato il video; grazie per la visione; grazie per aver guardato; iscriviti al canale;
     iscrivetevi al canale; non dimenticare di iscriverti`,
  ),
  nl: of(
    `bedankt voor het kijken; bedankt voor het luisteren; dank u voor het kijken; vergeet niet te abonneren;
     tot de volgende video; tv gelderland 2021; tv gelderland 2022; tv gelderland 2023`,
  ),
  pl: of(
    `dziękuję za obejrzenie; dziękuję za oglądanie; dziękujemy za oglądanie; dzięki za oglądanie;
     dzięki za obejrzenie; zapraszam do subskrypcji; zasubskrybuj kanał; do zobaczenia w następnym odcinku;
     zdjęcia i montaż; www multi moto eu`,
  ),
  ru: of(
    `продолжение следует; спасибо за просмотр; спасибо за подписку; подписывайтесь; подписывайтесь на канал;
     подписывайтесь на мой канал; подписывайтесь на наш канал; подпишись на канал; ставьте лайки и подписывайтесь;
     ставьте лайки; не забудьте подписаться на канал; нажимайте на колокольчик; увидимся в следующем видео;
     dimatorzok`,
  ),
  uk: of(
    `дякую за перегляд; дякуємо за перегляд; підписуйтесь на канал; підпишіться на канал;
     ставте лайки та підписуйтесь; не забудьте підписатися; до зустрічі в наступному відео; далі буде`,
  ),
  tr: of(
    `altyazı m k; izlediğiniz için teşekkürler; izlediğiniz için teşekkür ederim; izlediğiniz için teşekkür ederiz;
     beni izlediğiniz için teşekkürler; abone olmayı unutmayın; abone olmayı ve beğenmeyi unutmayın;
     beğenmeyi ve abone olmayı unutmayın; kanalıma abone olmayı unutmayın; videoyu beğenmeyi unutmayın;
     yorumlarınıza abone olmayı unutmayın; bir sonraki videoda görüşmek üzere; sonraki videoda görüşürüz`,
  ),
  ar: of(
    `شكرا للمشاهدة; شكرا على المشاهدة; شكرا لكم على المشاهدة; شكرا لمشاهدتكم; شكرا لمتابعتكم; شكرا على المتابعة;
     اشتركوا في القناة; اشترك في القناة; اشتركوا بالقناة; لا تنسوا الاشتراك في القناة; لا تنسوا الاشتراك;
     لا تنسى الاشتراك في القناة; نانسي قنقر; إلى اللقاء في الحلقة القادمة`,
  ),
  fa: of(`ممنون از تماشای شما; با تشکر از تماشای شما; لطفا کانال را سابسکرایب کنید; زیرنویس آمارا`),
  he: of(`תודה שצפיתם; תודה על הצפייה; תודה רבה על הצפייה; הירשמו לערוץ`),
  hi: of(
    `देखने के लिए धन्यवाद; वीडियो देखने के लिए धन्यवाद; देखने के लिए शुक्रिया; चैनल को सब्सक्राइब करें;
     चैनल को सब्सक्राइब करना ना भूलें; लाइक और सब्सक्राइब करें; अगले वीडियो में मिलते हैं`,
  ),
  bn: of(`ভিডিওটি দেখার জন্য ধন্যবাদ; দেখার জন্য ধন্যবাদ; চ্যানেলটি সাবস্ক্রাইব করুন`),
  ta: of(`பார்த்ததற்கு நன்றி; வீடியோவை பார்த்ததற்கு நன்றி`),
  te: of(`చూసినందుకు ధన్యవాదాలు; వీడియో చూసినందుకు ధన్యవాదాలు`),
  ur: of(`دیکھنے کا شکریہ; ویڈیو دیکھنے کا شکریہ; چینل کو سبسکرائب کریں`),
  ko: of(
    `시청해주셔서 감사합니다; 끝까지 시청해주셔서 감사합니다; 영상 시청해주셔서 감사합니다; 시청해주셔서 고맙습니다; 들어주셔서 감사합니다; 구독과 좋아요 부탁드립니다; 구독 좋아요 부탁드립니다;
     구독과 좋아요; 구독 좋아요 알림 설정; 구독과 좋아요 알림설정까지 부탁드립니다; 다음 영상에서 만나요; 다음 영상에서 뵙겠습니다; 다음 시간에 만나요; mbc 뉴스; mbc 뉴스입니다;
     mbc 뉴스 이덕영입니다; mbc 뉴스 김성현입니다; kbs 뉴스; sbs 뉴스; ytn 뉴스; 지금까지 뉴스 스토리였습니다`,
  ),
  ja: of(
    `ご視聴ありがとうございました; ご視聴ありがとうございます; ご視聴いただきありがとうございます; ご視聴いただきありがとうございました; 最後までご視聴ありがとうございました;
     最後までご視聴いただきありがとうございます; 最後までご視聴頂きありがとうございます; ご覧いただきありがとうございます; ご清聴ありがとうございました; 見てくれてありがとう; 次の動画でお会いしましょう;
     また次の動画でお会いしましょう; 次回の動画でお会いしましょう; それでは次の動画でお会いしましょう; 次回もお楽しみに; チャンネル登録お願いします; チャンネル登録をお願いします; チャンネル登録よろしくお願いします;
     チャンネル登録と高評価をお願いします; チャンネル登録高評価よろしくお願いします; 高評価とチャンネル登録よろしくお願いします`,
  ),
  zh: of(
    `谢谢观看; 謝謝觀看; 谢谢观看 下集再见; 謝謝觀看 下次見; 谢谢收看; 謝謝收看; 谢谢收听; 謝謝收聽; 感谢观看; 感謝觀看; 感谢收看; 感謝收看; 感谢您的观看; 感謝您的觀看; 多谢您的观看;
     多謝您的觀看; 多谢观看; 多謝觀看; 谢谢大家的支持; 谢谢大家观看; 请不吝点赞 订阅 转发 打赏支持明镜与点点栏目; 請不吝點贊 訂閱 轉發 打賞支持明鏡與點點欄目; 请不吝点赞 订阅; 请订阅; 請訂閱;
     请订阅我的频道; 請訂閱我的頻道; 欢迎订阅我的频道; 歡迎訂閱我的頻道; 记得点赞订阅; 一键三连; 我们下期再见; 我們下期再見; 下集再见; 下集再見;
     优优独播剧场 yoyo television series exclusive; 優優獨播劇場 yoyo television series exclusive;
     yoyo television series exclusive; 中文字幕; 小编字幕`,
  ),
  vi: of(
    `cảm ơn các bạn đã theo dõi; cảm ơn các bạn đã theo dõi và hẹn gặp lại; cảm ơn các bạn đã theo dõi hẹn gặp lại;
     cảm ơn các bạn đã xem; cảm ơn các bạn đã xem video; cảm ơn các bạn đã lắng nghe; cảm ơn bạn đã xem;
     cảm ơn đã xem; cảm ơn đã theo dõi; hẹn gặp lại các bạn trong những video tiếp theo;
     chào tạm biệt và hẹn gặp lại; hãy đăng ký kênh; hãy đăng ký kênh để ủng hộ kênh của mình nhé;
     hãy subscribe cho kênh ghiền mì gõ; hãy subscribe cho kênh ghiền mì gõ để không bỏ lỡ những video hấp dẫn;
     hãy subscribe cho kênh la la school; hãy subscribe cho kênh la la school để không bỏ lỡ những video hấp dẫn`,
  ),
  id: of(
    `terima kasih telah menonton; terima kasih sudah menonton; terima kasih sudah menonton video ini;
     terima kasih kerana menonton; jangan lupa subscribe; jangan lupa like dan subscribe;
     jangan lupa like share dan subscribe; sampai jumpa di video selanjutnya; sampai jumpa di video berikutnya`,
  ),
  th: of(`ขอบคุณที่รับชม; ขอบคุณที่รับชมครับ; ขอบคุณที่รับชมค่ะ; โปรดติดตามตอนต่อไป; อย่าลืมกดติดตาม`),
  fil: of(`salamat sa panonood; maraming salamat sa panonood; thank you for watching po`),
  da: of(
    `tak for at se med; tak for at i så med; tak for at du så med; tak fordi du så med; tak fordi i så med;
     tak for at have set med; husk at abonnere; vi ses i næste video; vi ses i næste afsnit`,
  ),
  sv: of(
    `tack för att du tittade; tack för att ni tittade; tack för att ni har tittat på den här videon;
     tack för att du har tittat; tack för visningen; glöm inte att prenumerera; prenumerera på kanalen;
     vi ses i nästa video; svensktextning nu; textning nu`,
  ),
  no: of(
    `takk for at du så på; takk for at du så med; takk for at dere så på; tusen takk for at du så på;
     takk for ating med`,
  ),
  fi: of(`kiitos katsomisesta; kiitos kun katsoit; kiitos että katsoit; tilaa kanava`),
  cs: of(
    `děkuji za zhlédnutí; děkujeme za zhlédnutí; děkuji za sledování; přihlaste se k odběru; johnyx;
     www hradeckesluzby cz`,
  ),
  sk: of(`ďakujem za sledovanie; ďakujeme za sledovanie`),
  hu: of(`köszönöm hogy megnézted; köszönjük hogy megnézted; iratkozz fel a csatornára`),
  ro: of(
    `vă mulțumesc pentru vizionare; mulțumesc pentru vizionare; vă mulțumim pentru vizionare;
     nu uitați să vă abonați; să nu uiți să te abonezi la canal`,
  ),
  bg: of(`абонирайте се; абонирайте се за канала; благодаря че гледахте`),
  hr: of(`hvala što pratite; hvala što pratite kanal; hvala na gledanju; pretplatite se na kanal`),
  el: of(`ευχαριστώ που παρακολουθήσατε; ευχαριστούμε που παρακολουθήσατε`),
  ca: of(`gràcies per veure el vídeo; subscriu te al canal`),
};

/** How the credits of subtitles begin, with the names behind them; short utterances only. */
export const CREDIT_BEGINNINGS: readonly string[] = of(
  `subtitles by; subtitled by; subtitles created by; captions by; captioned by; captioning by; transcribed by;
   transcription by; translated by; untertitel von; untertitel der amara; untertitel im auftrag; untertitelung;
   sous titrage; sous titres par; sous titres réalisés; sous titres fait; subtítulos realizados; subtítulos por;
   subtítulos creados; subtítulos hechos; subtitulado por; legendas pela; legendas por; legendado por;
   transcrição e legendas; sottotitoli creati; sottotitoli di; sottotitoli a cura; sottotitoli e revisione;
   ondertiteling door; ondertiteld door; ondertitels ingediend; ondertiteling tt; napisy stworzone;
   napisy wykonane; napisy robione; tłumaczenie i napisy stworzone; субтитры сделал; субтитры создавал;
   субтитры делал; субтитры подогнал; субтитры и перевод; субтитры добавил; субтитры предоставил;
   добавил субтитры; редактор субтитров; субтитри створив; субтитри зробив; редактор субтитрів; altyazı m k;
   altyazı ekleyen; çeviri ve altyazı; ترجمة نانسي; 字幕由; 由 amara; 字幕提供; 字幕志愿者; 字幕志願者; 字幕制作; 字幕製作; 字幕by; 中文字幕志愿者;
   中文字幕志願者; 자막 제공; 자막 by; 한글자막 by; phụ đề bởi; phụ đề được thực hiện; tekstning af; tekstet af; undertekster af;
   danske tekster af; scandinavian text service; undertexter från; undertexter av; textning av; teksting av;
   undertekster av; norsk teksting; suomennos; titulky vytvořil; titulky vytvořila; субтитри от`,
);
